import { z } from "zod";
import type { ChannelOptions, Timeouts } from "../channels/channel.js";
import { isJsonObject } from "../util/json.js";
import { milliseconds, name, names, TRUE_OR_FALSE } from "./schema-values.js";

const baseUrl = z
  .string("must be a string")
  .refine(isBaseUrl, "must be an http or https address without query, fragment and credentials");
const NEEDS_ALLOW_HTTP =
  "must be an https address: plain http is allowed on loopback, and with allowHttp: true in a private network";

const KEY_MISSING = "is missing; is the environment variable set?";
const channelKey = z
  .string(KEY_MISSING)
  .regex(/^[\x21-\x7e]+$/, "must be a key: letters, digits and signs without spaces");
const channelKeys = z
  .array(channelKey)
  .min(1, "must hold at least one key")
  .check(({ value, issues }) => {
    for (const [index, key] of value.entries()) {
      if (value.indexOf(key) === index) continue;
      issues.push({ code: "custom", path: [index], message: "is given twice", input: undefined });
    }
  });

const channelFields = z.strictObject(
  {
    id: name,
    family: name,
    apiKey: z.union([channelKey, channelKeys], KEY_MISSING),
    baseUrl: baseUrl.optional(),
    modelMapping: z.record(name, name, "must be an object of names").optional(),
    priority: z.int("must be a whole number").optional(),
    weight: z.number("must be a number").positive("must be above 0").optional(),
    headers: z
      .record(
        z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, "is no header name"),
        z.string("must be a string").regex(/^[\t\x20-\x7e]*$/, "must be a string without line ends"),
        "must be an object of headers",
      )
      .optional(),
    timeouts: z
      .strictObject(
        { connectMs: milliseconds, firstByteMs: milliseconds, idleMs: milliseconds } satisfies Record<
          keyof Timeouts,
          z.ZodType
        >,
        "must be an object of milliseconds",
      )
      .optional(),
    resultHosts: names.optional(),
    retryUnsafe: z.boolean(TRUE_OR_FALSE).optional(),
    allowHttp: z.boolean(TRUE_OR_FALSE).optional(),
  } satisfies Record<keyof ChannelOptions, z.ZodType>,
  "must be an object with id, family and apiKey",
);

/** One of the `channels`. */
export const channel = channelFields.refine(isAllowedHttp, {
  path: ["baseUrl"],
  error: NEEDS_ALLOW_HTTP,
  // Checked also if another option of the channel is wrong: all problems are reported at once.
  when: () => true,
});

function isAllowedHttp(value: unknown): boolean {
  if (!isJsonObject(value)) return true;
  const { baseUrl: address, allowHttp } = value;
  return (
    typeof address !== "string" || !isBaseUrl(address) || allowHttp === true || isEncryptedOrLocal(address)
  );
}

function isBaseUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, search, hash, username } = new URL(value);
  return /^https?:$/.test(protocol) && search === "" && hash === "" && username === "";
}

function isEncryptedOrLocal(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
