import * as z from "zod/mini";
import type { CallerOptions } from "../../auth/authenticate.js";
import type { OptionsProblem } from "../../options/options.js";
import { name } from "../../options/schema-parts.js";
import { type Fields, formatPath } from "../../util/parse-fields.js";
import {
  checkEndpoints,
  decodeSecret,
  type FindEndpoints,
  type WebhookEndpoint,
  type WebhooksOptions,
} from "./webhook-options.js";

// Apart from the types, which are public: they must not need zod.

const MAX_ENDPOINTS = 10;
const MAX_SECRETS = 5;
const MAX_URL_LENGTH = 2_048;
const MAX_TIMEOUT_SECONDS = 60;
const ENDPOINT_NAME = /^[A-Za-z\d][\w.-]{0,63}$/;

const URL_RULE = "must be an https address without credentials and fragment";
const SECRET_RULE =
  "must be whsec_ and the base64 of 24 to 64 random bytes; is the environment variable set?";
const SECRETS_RULE = "must be a list of secrets";
const NAME_OF_ENDPOINT_RULE =
  "must be a name of 1 to 64 letters, digits, dots, hyphens and underscores that begins with a letter or a digit";
const ENDPOINTS_RULE = "must be an object of endpoints by their names";

/** The schema of the endpoints of one caller. `checkEndpoints` checks their addresses against `allowHosts`. */
export const callerEndpointsSchema = /* @__PURE__ */ (() =>
  z
    .record(
      z.string().check(z.regex(ENDPOINT_NAME, NAME_OF_ENDPOINT_RULE)),
      z.strictObject(
        {
          url: z.string(URL_RULE).check(z.refine(isEndpointUrl, URL_RULE)),
          secrets: z
            .array(
              z
                .string(SECRET_RULE)
                .check(z.refine((secret) => decodeSecret(secret) !== undefined, SECRET_RULE)),
              SECRETS_RULE,
            )
            .check(
              z.minLength(1, "must contain at least one secret"),
              z.maxLength(MAX_SECRETS, `must contain at most ${MAX_SECRETS} secrets`),
            ),
        } satisfies Fields<WebhookEndpoint>,
        "must be an object with url and secrets",
      ),
      ENDPOINTS_RULE,
    )
    .check(
      z.refine(
        (endpoints) => Object.keys(endpoints).length <= MAX_ENDPOINTS,
        `must have at most ${MAX_ENDPOINTS} endpoints`,
      ),
    ))();

const ENDPOINTS_OF_CALLERS = "must be a function, or an object of callers and their endpoints";
const ALLOW_HOSTS = "must be a list of host names";

/** The schema of {@link WebhooksOptions}. */
export const webhooksSchema = /* @__PURE__ */ (() =>
  z.strictObject(
    {
      endpoints: z.union(
        [
          z.record(name, callerEndpointsSchema, ENDPOINTS_OF_CALLERS),
          z.custom<FindEndpoints>((value) => typeof value === "function", ENDPOINTS_OF_CALLERS),
        ],
        ENDPOINTS_OF_CALLERS,
      ),
      allowHosts: z.optional(
        z.array(z.string(ALLOW_HOSTS).check(z.minLength(1, "must not be empty")), ALLOW_HOSTS),
      ),
      timeoutSeconds: z.optional(
        z
          .number("must be a number of seconds")
          .check(
            z.positive("must be above 0"),
            z.maximum(MAX_TIMEOUT_SECONDS, `must be at most ${MAX_TIMEOUT_SECONDS}`),
          ),
      ),
    } satisfies Fields<WebhooksOptions>,
    "must be an object with endpoints",
  ))();

function isEndpointUrl(value: string): boolean {
  if (value.length > MAX_URL_LENGTH || !URL.canParse(value)) return false;
  const { protocol, username, password, hash } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "" && hash === "";
}

/**
 * Checks endpoints that are not a function against `allowHosts` and the callers. The types were checked before.
 *
 * @param callers `undefined` if they are not known
 */
export function* checkWebhooks(
  webhooks: WebhooksOptions | undefined,
  callers: readonly CallerOptions[] | undefined,
): Iterable<OptionsProblem> {
  if (webhooks === undefined || typeof webhooks.endpoints === "function") return;
  const ids = callers && new Set(callers.map(({ id }) => id));
  for (const [caller, endpoints] of Object.entries(webhooks.endpoints)) {
    const path = ["webhooks", "endpoints", caller];
    // A misspelled id would leave a caller without its webhooks.
    if (ids?.has(caller) === false) {
      yield { path: formatPath(path), message: "is not the id of an entry of callers" };
    }
    for (const { name: endpoint, message } of checkEndpoints(endpoints, webhooks.allowHosts ?? [])) {
      yield { path: formatPath([...path, endpoint, "url"]), message };
    }
  }
}
