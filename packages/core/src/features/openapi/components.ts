import { EXAMPLES } from "./examples.js";
import type { JsonSchema } from "./request-schemas.js";
import { ref, SENT_ERRORS } from "./response-schemas.js";

/** The headers of responses, by name. */
export const HEADERS: Readonly<Record<string, JsonSchema>> = {
  "x-request-id": header("The id of the request, for support."),
  "x-should-retry": header("`false`: a repeat could be charged twice, or cannot succeed.", {
    type: "string",
    const: "false",
  }),
  "retry-after": header("After how many seconds a repeat makes sense.", {
    type: "string",
    pattern: "^\\d+$",
  }),
  "x-calotype-ignored": header("The fields that had no effect."),
  "x-calotype-size": header("The size that was requested in place of one that the model does not accept."),
  "x-calotype-charge": header("The exact charge of the request, a decimal. Only if the operator shows it."),
  "x-calotype-original-request-id": header(
    "A stored response was sent again: the id of the request that made it.",
  ),
  "ratelimit-policy": header("The limits of the caller (draft-ietf-httpapi-ratelimit-headers)."),
  ratelimit: header("What is left of them."),
  "x-ratelimit-limit-requests": header("The limit of requests that is closest to its end."),
  "x-ratelimit-remaining-requests": header("How many requests are left."),
  "x-ratelimit-reset-requests": header("When it begins again, such as `6m0s`."),
  "x-ratelimit-limit-images": header("The limit of images that is closest to its end."),
  "x-ratelimit-remaining-images": header("How many images are left."),
  "x-ratelimit-reset-images": header("When it begins again."),
  "preference-applied": header("The preference that was followed."),
  location: header("The path of the task."),
  allow: header("The method to send."),
  "www-authenticate": header("The scheme of the key.", { type: "string", const: "Bearer" }),
  "cache-control": header("How long the response may be kept."),
  "x-accel-buffering": header("`no`: proxies must not hold events back."),
  "accept-ranges": header("Ranges are in bytes."),
  "content-disposition": header("The name of the file."),
  "content-range": header("The bytes that were sent."),
  "content-security-policy": header("Keeps a browser from running what is in the file."),
  "cross-origin-resource-policy": header("Every page may show the file."),
  "access-control-allow-origin": header("Every page may read the file."),
  etag: header("The file never changes."),
  "x-content-type-options": header("`nosniff`"),
};

function header(description: string, schema: JsonSchema = { type: "string" }): JsonSchema {
  return { description, schema };
}

/** The headers of every response. */
export const EVERY = ["x-request-id", "cache-control"];

const OF_LIMITS = Object.keys(HEADERS).filter((name) => name.includes("ratelimit"));

/** The headers of responses with images. */
export const OF_IMAGES = [
  ...EVERY,
  "x-calotype-ignored",
  "x-calotype-size",
  "x-calotype-charge",
  "x-calotype-original-request-id",
  ...OF_LIMITS,
];

const OF_ERRORS = [
  ...EVERY,
  "x-calotype-charge",
  "retry-after",
  "x-should-retry",
  ...OF_LIMITS,
  "x-calotype-original-request-id",
];

/** References to headers. */
export function headers(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** A parameter has the name of its key, and is a string unless its schema is given. */
const DESCRIBED: Readonly<Record<string, JsonSchema>> = {
  "x-calotype-tags": {
    in: "header",
    description: "Up to 8 tags for the usage record, such as `team=design, job=42`.",
  },
  "idempotency-key": {
    in: "header",
    description:
      "Repeats with the same key make no second image for a day. Another body with the same key is a 422.",
    schema: { type: "string", minLength: 1 },
  },
  prefer: {
    in: "header",
    description: "`respond-async`: a task in place of the images (RFC 7240).",
    schema: { type: "string", examples: ["respond-async"] },
  },
  "prefer-wait": {
    in: "header",
    name: "prefer",
    description: "`wait=30`: as the query `wait` (RFC 7240).",
    schema: { type: "string", examples: ["wait=30"] },
  },
  "x-calotype-webhook": {
    in: "header",
    description: "With a task: the names of the caller's endpoints that get a message about its end.",
  },
  "x-dashscope-async": {
    in: "header",
    required: true,
    description: "`enable`: DashScope's SDKs send it for tasks.",
    schema: { type: "string", const: "enable" },
  },
  alt: {
    in: "query",
    required: true,
    description: "`sse`: the only format of this stream.",
    schema: { type: "string", const: "sse" },
  },
  model: { in: "path", required: true, description: "The name of a model. A slash in it may be encoded." },
  task_id: {
    in: "path",
    required: true,
    description: "The id of a task of the caller.",
    schema: { type: "string", pattern: "^task_[0-9a-f]{32}$" },
  },
  wait: {
    in: "query",
    description: "For how many seconds to wait for the end of the task.",
    schema: { type: "integer", minimum: 0, maximum: 60 },
  },
  limit: {
    in: "query",
    description: "How many tasks to return.",
    schema: { type: "integer", minimum: 1, maximum: 100, default: 20 },
  },
  after: { in: "query", description: "The `last_id` of the page before." },
  file_id: { in: "path", required: true, description: "The last part of a link." },
  expires: { in: "query", required: true, description: "As in the link." },
  signature: { in: "query", required: true, description: "As in the link." },
  range: { in: "header", description: "The bytes to send." },
  "if-none-match": { in: "header", description: "The `etag` that the client has." },
};

/** The parameters of requests, by name. */
export const PARAMETERS: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  Object.entries(DESCRIBED).map(([name, { schema = { type: "string" }, ...described }]) => [
    name,
    { in: described["in"], name, ...described, schema },
  ]),
);

/** References to parameters. */
export function parameters(...names: readonly (keyof typeof PARAMETERS)[]): readonly JsonSchema[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** The statuses of errors with a response of their own. 410 and 416 belong to files. */
const STATUSES = [...new Set(SENT_ERRORS.map(([, { status }]) => status))]
  .filter((status) => ![410, 416].includes(status))
  .toSorted((a, b) => a - b);

const REASONS: Readonly<Record<number, string>> = {
  400: "The request is wrong, or the provider refused it.",
  401: "The key is missing or wrong, nobody is signed in, or the providers refused the server's own key.",
  403: "The key does not permit this, or a page of another site has sent a request without a key.",
  404: "There is no such path, model, task or file.",
  405: "The path does not take this method.",
  408: "The body arrived too slowly.",
  409: "The state does not permit this.",
  413: "The body is too large.",
  415: "The body has a type that the path does not take.",
  422: "The idempotency key belongs to another request.",
  429: "A limit is reached.",
  500: "The server failed.",
  502: "The provider failed.",
  503: "The server or the provider cannot take the request now.",
  504: "The provider did not respond in time.",
};

const MORE_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ["www-authenticate"],
  405: ["allow"],
};

/** The errors by status, each with all its codes. */
export const ERROR_RESPONSES: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  STATUSES.map((status) => {
    const codes = SENT_ERRORS.filter(([, kind]) => kind.status === status);
    const names = codes.map(([code]) => `\`${code}\``).join(", ");
    const description = `${REASONS[status]} Codes: ${names}.`;
    return [`Error${status}`, json(description, "Error", [...OF_ERRORS, ...(MORE_HEADERS[status] ?? [])])];
  }),
);

/** A response with the schema of an error. */
export function error(description: string, schema: string): JsonSchema {
  return json(description, schema, [...OF_ERRORS, "www-authenticate", "allow"]);
}

/** A reference to a response. */
export function responseOf(name: string): JsonSchema {
  return { $ref: `#/components/responses/${name}` };
}

/**
 * @param statuses the statuses of the errors that an operation has
 * @param name the response to all of them. Default: each has one of its own.
 */
export function errors(statuses: readonly number[], name?: string): JsonSchema {
  return Object.fromEntries(statuses.map((status) => [status, responseOf(name ?? `Error${status}`)]));
}

/**
 * Errors of an endpoint for images. A provider's error keeps its status, which may be any other.
 *
 * @param native the response of a native endpoint, which has the provider's structure for all errors
 */
export function imageErrors(native?: "NativeError" | "DashScopeError" | "GeminiError"): JsonSchema {
  return { ...errors(STATUSES, native), default: responseOf(native ?? "ProviderError") };
}

/** A response with JSON. */
export function json(description: string, schema: string, names: readonly string[] = EVERY): JsonSchema {
  return { description, headers: headers(names), content: { "application/json": jsonContent(schema) } };
}

/** The schema of a body, and its example. Errors have none. */
export function jsonContent(schema: string): JsonSchema {
  const example = EXAMPLES[schema];
  return { schema: ref(schema), ...(example !== undefined && { example }) };
}
