import * as z from "zod/mini";
import type { ChannelOptions, TimeoutOptions } from "../channels/channel.js";
import { isJsonObject } from "../util/json.js";
import type { Fields } from "../util/parse-fields.js";
import { boolean, name, names, seconds } from "./schema-parts.js";

const KEY_MISSING = "is missing; is the environment variable set?";

const KEY_RULE = {
  error: ({ input }: { readonly input?: unknown }): string =>
    input === undefined || input === null ? KEY_MISSING : "must be a key, or a function that returns a key",
};

const channelKey = z
  .string(KEY_MISSING)
  .check(
    z.minLength(1, { error: KEY_MISSING, abort: true }),
    z.regex(/^[\x21-\x7e]+$/, "must be a key: letters, digits and signs without spaces"),
  );

/** Unlike `asFunction`, a union recognizes its problem as that of another type. */
const keyFunction = z.instanceof(Function);

const channelKeys = z
  .array(z.union([channelKey, keyFunction], KEY_RULE))
  .check(z.minLength(1, "must contain at least one key"), ({ value, issues }) => {
    for (const [index, channelKeyValue] of value.entries()) {
      if (value.indexOf(channelKeyValue) === index) continue;
      issues.push({ code: "custom", path: [index], message: "is given twice", input: undefined });
    }
  });

/** The schema of an entry of `channels`. */
export const channelSchema = z
  .strictObject(
    {
      id: name,
      family: name,
      dialect: z.optional(name),
      apiKey: z.union([channelKey, keyFunction, channelKeys], KEY_RULE),
      baseUrl: z.optional(
        z
          .string("must be a string")
          .check(z.refine(isChannelUrl, "must be an http or https address without fragment and credentials")),
      ),
      modelMapping: z.optional(z.record(name, name, "must be an object of names")),
      priority: z.optional(z.int("must be a whole number")),
      weight: z.optional(z.number("must be a number").check(z.positive("must be above 0"))),
      headers: z.optional(
        z.record(
          z.string().check(z.regex(/^[\w!#$%&'*+.^`|~-]+$/, "is not a valid header name")),
          z
            .string("must be a string")
            .check(z.regex(/^[\t\x20-\x7e]*$/, "must be a string without line ends")),
          "must be an object of headers",
        ),
      ),
      // The features that apply these check them.
      parameters: z.optional(z.unknown()),
      costs: z.optional(z.unknown()),
      timeouts: z.optional(
        z.strictObject(
          {
            connectSeconds: seconds,
            firstByteSeconds: seconds,
            idleSeconds: seconds,
          } satisfies Fields<TimeoutOptions>,
          "must be an object of seconds",
        ),
      ),
      resultHosts: z.optional(names),
      retryUnsafe: boolean,
      allowHttp: boolean,
    } satisfies Fields<ChannelOptions>,
    "must be an object with id, family and apiKey",
  )
  .check(
    z.refine(isAllowedHttp, {
      path: ["baseUrl"],
      error:
        "must be an https address: plain http is allowed on loopback, and with allowHttp: true in a private network",
      // Checked also if another option of the channel is wrong: all problems are reported at once.
      when: () => true,
    }),
  );

function isAllowedHttp(value: unknown): boolean {
  if (!isJsonObject(value)) return true;
  const { baseUrl: address, allowHttp } = value;
  return (
    typeof address !== "string" || !isChannelUrl(address) || allowHttp === true || isEncryptedOrLocal(address)
  );
}

/** Providers put the version of their interface into the query. */
export function isChannelUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hash, username } = new URL(value);
  return /^https?:$/.test(protocol) && hash === "" && username === "";
}

function isEncryptedOrLocal(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
