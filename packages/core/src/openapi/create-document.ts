import { createEditSchemas, createRequestSchemas, type JsonSchema } from "./request-schemas.js";
import { createResponseSchemas, IMAGE_EVENTS, ref, SENT_ERRORS, TASK_EVENTS } from "./response-schemas.js";

/** Creates the OpenAPI description of the gateway, from the validators of requests and the schemas of responses. */
export function createOpenApiDocument(version: string): JsonSchema {
  return {
    openapi: "3.1.0",
    info: {
      title: "Image generation and editing",
      version,
      summary: "Images from text and from reference images.",
      description: DESCRIPTION,
      license: { name: "MIT", identifier: "MIT" },
    },
    security: [{ bearer: [] }, { apiKey: [] }],
    tags: [
      { name: "Images", description: "Make and edit images." },
      { name: "Models", description: "Which models a key may use, and what they can do." },
      { name: "Tasks", description: "Requests whose response is fetched later." },
      { name: "Native", description: "The providers' own structures." },
      { name: "Server", description: "What the server says about itself. These paths need no key." },
    ],
    paths: PATHS,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "The caller's key." },
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "api-key",
          description: "Read if there is no `Authorization`.",
        },
      },
      parameters: PARAMETERS,
      headers: HEADERS,
      responses: {
        ...ERROR_RESPONSES,
        ProviderError: error("An error of the provider with a status of its own.", "Error"),
        NativeError: error("An error of Ark, or of the gateway.", "NativeError"),
        DashScopeError: error("An error of DashScope, or of the gateway.", "DashScopeError"),
        FileError: {
          description:
            "Codes: `file_not_found`, `method_not_allowed`, `file_expired`, `range_not_satisfiable`, `internal_error`, `gateway_unavailable`, `gateway_closed`.",
          headers: headers([
            ...EVERY,
            "retry-after",
            "allow",
            "content-range",
            "access-control-allow-origin",
            "cross-origin-resource-policy",
          ]),
          content: { "application/json": { schema: ref("Error") } },
        },
      },
      schemas: { ...createRequestSchemas(), ...createEditSchemas(), ...createResponseSchemas() },
    },
  };
}

const DESCRIPTION = `OpenAI's clients work with \`{server}/v1\` as their base address.

Fields of requests that are not listed are forwarded to the provider or named in the header \`x-calotype-ignored\`. A field that is \`null\` counts as absent, except in the native structures. HEAD is accepted wherever GET is.

A server may leave out what its operator did not turn on: tasks, stored files, \`/healthz\`. Such a path is a 404.`;

const HEADERS: Readonly<Record<string, JsonSchema>> = {
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

const EVERY = ["x-request-id", "cache-control"];
const OF_LIMITS = Object.keys(HEADERS).filter((name) => name.includes("ratelimit"));
const OF_IMAGES = [
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

function headers(names: readonly string[]): JsonSchema {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  "x-calotype-tags": {
    in: "header",
    name: "x-calotype-tags",
    description: "Up to 8 tags for the usage record, such as `team=design, job=42`.",
    schema: { type: "string" },
  },
  "idempotency-key": {
    in: "header",
    name: "idempotency-key",
    description:
      "Repeats with the same key make no second image for a day. Another body with the same key is a 422.",
    schema: { type: "string", minLength: 1 },
  },
  prefer: {
    in: "header",
    name: "prefer",
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
    name: "x-calotype-webhook",
    description: "With a task: the names of the caller's endpoints that are told its end.",
    schema: { type: "string" },
  },
  model: {
    in: "path",
    name: "model",
    required: true,
    description: "The name of a model. A slash in it may be encoded.",
    schema: { type: "string" },
  },
  task_id: {
    in: "path",
    name: "task_id",
    required: true,
    description: "The id of a task of the caller.",
    schema: { type: "string", pattern: "^task_[0-9a-f]{32}$" },
  },
  wait: {
    in: "query",
    name: "wait",
    description: "For how many seconds to wait for the end of the task.",
    schema: { type: "integer", minimum: 0, maximum: 60 },
  },
  limit: {
    in: "query",
    name: "limit",
    description: "How many tasks to return.",
    schema: { type: "integer", minimum: 1, maximum: 100, default: 20 },
  },
  after: {
    in: "query",
    name: "after",
    description: "The `last_id` of the page before.",
    schema: { type: "string" },
  },
  file_id: {
    in: "path",
    name: "file_id",
    required: true,
    description: "The last part of a link.",
    schema: { type: "string" },
  },
  expires: {
    in: "query",
    name: "expires",
    required: true,
    description: "As in the link.",
    schema: { type: "string" },
  },
  signature: {
    in: "query",
    name: "signature",
    required: true,
    description: "As in the link.",
    schema: { type: "string" },
  },
  range: { in: "header", name: "range", description: "The bytes to send.", schema: { type: "string" } },
  "if-none-match": {
    in: "header",
    name: "if-none-match",
    description: "The `etag` that the client has.",
    schema: { type: "string" },
  },
};

function parameters(...names: readonly (keyof typeof PARAMETERS)[]): readonly JsonSchema[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

/** The statuses of errors with a response of their own. 410 and 416 belong to files. */
const STATUSES = [...new Set(SENT_ERRORS.map(([, { status }]) => status))]
  .filter((status) => ![410, 416].includes(status))
  .toSorted((a, b) => a - b);
const REASONS: Readonly<Record<number, string>> = {
  400: "The request is wrong, or the provider refused it.",
  401: "The key is missing or wrong, or the providers refused the server's own key.",
  403: "The key does not permit this.",
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
const ERROR_RESPONSES: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  STATUSES.map((status) => {
    const codes = SENT_ERRORS.filter(([, kind]) => kind.status === status);
    const names = codes.map(([code]) => `\`${code}\``).join(", ");
    return [
      `Error${status}`,
      {
        description: `${REASONS[status]} Codes: ${names}.`,
        headers: headers([...OF_ERRORS, ...(MORE_HEADERS[status] ?? [])]),
        content: { "application/json": { schema: ref("Error") } },
      },
    ];
  }),
);

function error(description: string, schema: string): JsonSchema {
  const names = [...OF_ERRORS, "www-authenticate", "allow"];
  return { description, headers: headers(names), content: { "application/json": { schema: ref(schema) } } };
}

function responseOf(name: string): JsonSchema {
  return { $ref: `#/components/responses/${name}` };
}

/** @param statuses the statuses of the errors that an operation has */
function errors(statuses: readonly number[]): JsonSchema {
  return Object.fromEntries(statuses.map((status) => [status, responseOf(`Error${status}`)]));
}

/**
 * Errors of an endpoint for images. A provider's error keeps its status, which may be any other.
 *
 * @param native the response of a native endpoint, which has the provider's structure for all errors
 */
function imageErrors(native?: "NativeError" | "DashScopeError"): JsonSchema {
  if (native === undefined) return { ...errors(STATUSES), default: responseOf("ProviderError") };
  const all = STATUSES.map((status) => [status, responseOf(native)]);
  return { ...Object.fromEntries(all), default: responseOf(native) };
}

function json(description: string, schema: string, names: readonly string[] = EVERY): JsonSchema {
  return { description, headers: headers(names), content: { "application/json": { schema: ref(schema) } } };
}

/** A stream of server-sent events. OpenAPI 3.1 has no schema for events, so an extension names those of their data. */
function stream(events: Readonly<Record<string, string>>): JsonSchema {
  const names = Object.entries(events).map(([event, schema]) => `\`${event}\` (\`${schema}\`)`);
  return {
    schema: {
      type: "string",
      description: `Server-sent events. Each has a name and JSON: ${names.join(", ")}. Lines that begin with a colon are comments. A stream of images may end with \`data: [DONE]\`.`,
    },
    "x-events": Object.fromEntries(Object.entries(events).map(([event, schema]) => [event, ref(schema)])),
  };
}

function images(schema: string, canStream: boolean): JsonSchema {
  const content = {
    "application/json": { schema: ref(schema) },
    ...(canStream && { "text/event-stream": stream(IMAGE_EVENTS) }),
  };
  const description = canStream ? "The images, or with `stream: true` their events." : "The images.";
  return { description, headers: headers([...OF_IMAGES, "x-accel-buffering"]), content };
}

const ACCEPTED = json("With `Prefer: respond-async`: the task.", "Task", [
  ...OF_IMAGES,
  "location",
  "retry-after",
  "preference-applied",
]);

const OF_REQUESTS = parameters("idempotency-key", "prefer", "x-calotype-webhook", "x-calotype-tags");

function body(content: JsonSchema): JsonSchema {
  return { required: true, content };
}

const anyOf = (...names: readonly string[]): JsonSchema => ({ anyOf: names.map(ref) });
const FOX = { model: "seedream-4-5-251128", prompt: "a red fox in the snow", size: "2048x2048" };

const TASK_ERRORS = errors([400, 401, 403, 404, 405, 429, 500, 502, 503]);

const OF_FILE = [...EVERY, "etag", "cross-origin-resource-policy", "access-control-allow-origin"];

function file(description: string): JsonSchema {
  return {
    description,
    headers: headers([
      ...OF_FILE,
      "accept-ranges",
      "content-disposition",
      "content-range",
      "content-security-policy",
      "x-content-type-options",
    ]),
    content: { "image/*": {}, "application/octet-stream": {} },
  };
}

const PATHS: JsonSchema = {
  "/v1/images/generations": {
    post: {
      operationId: "createImage",
      tags: ["Images"],
      summary: "Make images from text, or from text and reference images",
      description: "The body depends on the family of the model.",
      parameters: OF_REQUESTS,
      requestBody: body({
        "application/json": {
          schema: anyOf(
            "SeedreamRequest",
            "SeedreamLayersRequest",
            "QwenImageRequest",
            "QwenImageShorthandRequest",
            "OpenAIRequest",
            "GeminiRequest",
          ),
          example: FOX,
        },
      }),
      responses: { 200: images("ImagesResponse", true), 202: ACCEPTED, ...imageErrors() },
    },
  },
  "/v1/images/edits": {
    post: {
      operationId: "editImage",
      tags: ["Images"],
      summary: "Edit images",
      description: "Models of the family `qwen-image` are served here only if the operator turned it on.",
      parameters: OF_REQUESTS,
      requestBody: body({
        "multipart/form-data": { schema: ref("EditForm") },
        "application/json": {
          schema: anyOf(
            "SeedreamEditRequest",
            "QwenImageEditRequest",
            "OpenAIEditRequest",
            "GeminiEditRequest",
          ),
          example: { ...FOX, prompt: "at night", images: [{ image_url: "https://example.com/fox.png" }] },
        },
      }),
      responses: { 200: images("ImagesResponse", true), 202: ACCEPTED, ...imageErrors() },
    },
  },
  "/api/v3/images/generations": {
    post: {
      operationId: "createNativeImage",
      tags: ["Native"],
      summary: "Make images with Ark's own request and response",
      parameters: parameters("idempotency-key", "x-calotype-tags"),
      requestBody: body({
        "application/json": {
          schema: anyOf("NativeSeedreamRequest", "NativeSeedreamLayersRequest"),
          example: FOX,
        },
      }),
      responses: { 200: images("NativeImagesResponse", true), ...imageErrors("NativeError") },
    },
  },
  "/api/v1/services/aigc/multimodal-generation/generation": {
    post: {
      operationId: "createDashScopeImage",
      tags: ["Native"],
      summary: "Make images with DashScope's own request and response",
      parameters: parameters("idempotency-key", "x-calotype-tags"),
      requestBody: body({
        "application/json": {
          schema: ref("DashScopeRequest"),
          example: {
            model: "image-max",
            input: { messages: [{ role: "user", content: [{ text: "a red fox in the snow" }] }] },
            parameters: { size: "1328*1328" },
          },
        },
      }),
      responses: { 200: images("DashScopeResponse", false), ...imageErrors("DashScopeError") },
    },
  },
  "/v1/models": {
    get: {
      operationId: "listModels",
      tags: ["Models"],
      summary: "List the models that the key may use",
      responses: { 200: json("The models.", "ModelList"), ...errors([401, 405, 500, 503]) },
    },
  },
  "/v1/models/{model}": {
    get: {
      operationId: "retrieveModel",
      tags: ["Models"],
      summary: "Describe a model",
      parameters: parameters("model"),
      responses: { 200: json("The model.", "Model"), ...errors([401, 403, 404, 405, 500, 503]) },
    },
  },
  "/v1/images/tasks": {
    get: {
      operationId: "listTasks",
      tags: ["Tasks"],
      summary: "List the caller's tasks, the newest first",
      description: "A task is submitted with `Prefer: respond-async` on an image request.",
      parameters: parameters("limit", "after"),
      responses: { 200: json("A page of tasks.", "TaskList"), ...TASK_ERRORS },
    },
  },
  "/v1/images/tasks/{task_id}": {
    get: {
      operationId: "retrieveTask",
      tags: ["Tasks"],
      summary: "Read a task, or wait for its end",
      parameters: parameters("task_id", "wait", "prefer-wait"),
      responses: { 200: json("The task.", "Task", [...EVERY, "preference-applied"]), ...TASK_ERRORS },
    },
  },
  "/v1/images/tasks/{task_id}/events": {
    get: {
      operationId: "followTask",
      tags: ["Tasks"],
      summary: "Follow a task as events",
      parameters: parameters("task_id"),
      responses: {
        200: {
          description: "Its status and its images. The last event has the result.",
          headers: headers([...EVERY, "x-accel-buffering"]),
          content: { "text/event-stream": stream(TASK_EVENTS) },
        },
        ...TASK_ERRORS,
      },
    },
  },
  "/v1/images/tasks/{task_id}/cancel": {
    post: {
      operationId: "cancelTask",
      tags: ["Tasks"],
      summary: "Cancel a task that was not sent yet",
      parameters: parameters("task_id"),
      responses: {
        200: json("The cancelled task.", "Task"),
        ...TASK_ERRORS,
        409: responseOf("Error409"),
      },
    },
  },
  "/v1/images/files/{file_id}": {
    get: {
      operationId: "readFile",
      tags: ["Images"],
      summary: "Read a stored image",
      description: "The link of an image is its permission. It needs no key.",
      security: [],
      parameters: parameters("file_id", "expires", "signature", "range", "if-none-match"),
      responses: {
        200: file("The image."),
        206: file("A part of the image."),
        304: { description: "The client has the image.", headers: headers(OF_FILE) },
        ...Object.fromEntries(
          [404, 405, 410, 416, 500, 503].map((status) => [status, responseOf("FileError")]),
        ),
      },
    },
  },
  "/healthz": {
    get: {
      operationId: "readHealth",
      tags: ["Server"],
      summary: "Whether the parts of the server work",
      security: [],
      responses: { 200: json("The state of the parts.", "Health"), ...errors([404, 405, 503]) },
    },
  },
  "/openapi.json": {
    get: {
      operationId: "readDescription",
      tags: ["Server"],
      summary: "This document",
      security: [],
      responses: {
        200: {
          description: "An OpenAPI document.",
          headers: headers(EVERY),
          content: { "application/json": { schema: { type: "object", additionalProperties: true } } },
        },
        ...errors([404, 405, 500, 503]),
      },
    },
  },
};
