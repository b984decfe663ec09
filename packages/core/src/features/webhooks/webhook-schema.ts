import * as z from "zod/mini";
import { isName, NAME_RULE } from "../../util/name.js";
import type { Fields } from "../../util/parse-fields.js";
import {
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
export const callerEndpointsSchema = z
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
  );

const callerName = z
  .string()
  .check(z.minLength(1, "must not be empty"), z.refine(isName, `must be ${NAME_RULE}`));
const ENDPOINTS_OF_CALLERS = "must be a function, or an object of callers and their endpoints";
const ALLOW_HOSTS = "must be a list of host names";

/** The schema of {@link WebhooksOptions}. */
export const webhooksSchema = z.strictObject(
  {
    endpoints: z.union(
      [
        z.record(callerName, callerEndpointsSchema, ENDPOINTS_OF_CALLERS),
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
);

function isEndpointUrl(value: string): boolean {
  if (value.length > MAX_URL_LENGTH || !URL.canParse(value)) return false;
  const { protocol, username, password, hash } = new URL(value);
  return /^https?:$/.test(protocol) && username === "" && password === "" && hash === "";
}
