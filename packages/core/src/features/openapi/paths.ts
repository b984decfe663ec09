import {
  EVERY,
  errors,
  headers,
  imageErrors,
  json,
  jsonContent,
  OF_IMAGES,
  parameters,
  responseOf,
} from "./components.js";
import type { JsonSchema } from "./request-schemas.js";
import { IMAGE_EVENTS, ref, TASK_EVENTS } from "./response-schemas.js";

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
    "application/json": jsonContent(schema),
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

const GENERATION = anyOf(
  "SeedreamRequest",
  "SeedreamLayersRequest",
  "QwenImageRequest",
  "QwenImageShorthandRequest",
  "OpenAIRequest",
  "GeminiRequest",
);
const EDIT = anyOf("SeedreamEditRequest", "QwenImageEditRequest", "OpenAIEditRequest", "GeminiEditRequest");
const FOX_AT_NIGHT = { ...FOX, prompt: "at night", images: [{ image_url: "https://example.com/fox.png" }] };

const ESTIMATE_ERRORS = errors([400, 401, 403, 404, 405, 408, 413, 415, 429, 500, 503]);

const DOCUMENT = { type: "object", description: "This document.", additionalProperties: true };

/** All paths of the gateway and their operations. */
export const PATHS: JsonSchema = {
  "/v1/images/generations": {
    post: {
      operationId: "createImage",
      tags: ["Images"],
      summary: "Make images from text, or from text and reference images",
      description: "The body depends on the family of the model.",
      parameters: OF_REQUESTS,
      requestBody: body({
        "application/json": {
          schema: GENERATION,
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
          schema: EDIT,
          example: FOX_AT_NIGHT,
        },
      }),
      responses: { 200: images("ImagesResponse", true), 202: ACCEPTED, ...imageErrors() },
    },
  },
  "/v1/images/generations/estimate": {
    post: {
      operationId: "estimateImage",
      tags: ["Images"],
      summary: "What a request for images would be charged at most",
      description: "Nothing is sent, held or counted.",
      requestBody: body({ "application/json": { schema: GENERATION, example: FOX } }),
      responses: { 200: json("The estimate.", "Estimate"), ...ESTIMATE_ERRORS },
    },
  },
  "/v1/images/edits/estimate": {
    post: {
      operationId: "estimateEdit",
      tags: ["Images"],
      summary: "What an edit would be charged at most",
      description: "Nothing is sent, held or counted. The images are not loaded, so any links count as well.",
      requestBody: body({ "application/json": { schema: EDIT, example: FOX_AT_NIGHT } }),
      responses: { 200: json("The estimate.", "Estimate"), ...ESTIMATE_ERRORS },
    },
  },
  "/api/v3/images/generations": {
    post: {
      operationId: "createNativeImage",
      tags: ["Native"],
      summary: "Make images with Ark's own request and response",
      description:
        "For clients of Volcengine Ark. Fields are forwarded as they are, and the response is the provider's own.",
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
      description: "For clients of Alibaba Cloud Model Studio. The response is the provider's own.",
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
      description: "Each model with what it can do, and its price if the server shows it.",
      responses: { 200: json("The models.", "ModelList"), ...errors([401, 403, 405, 500, 503]) },
    },
  },
  "/v1/models/{model}": {
    get: {
      operationId: "retrieveModel",
      tags: ["Models"],
      summary: "Describe a model",
      description: "What the model can do, and its price if the server shows it.",
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
      description:
        "The result is in the task when it is completed. With `wait` or `Prefer: wait` the response comes at the end of the task, or when the time is over.",
      parameters: parameters("task_id", "wait", "prefer-wait"),
      responses: { 200: json("The task.", "Task", [...EVERY, "preference-applied"]), ...TASK_ERRORS },
    },
  },
  "/v1/images/tasks/{task_id}/events": {
    get: {
      operationId: "followTask",
      tags: ["Tasks"],
      summary: "Follow a task as events",
      description: "An event for each change of the status and for each image.",
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
      description:
        "Nothing is charged then. A task that was sent to the provider can no longer be cancelled.",
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
        ...errors([404, 405, 410, 416, 500, 503], "FileError"),
      },
    },
  },
  "/healthz": {
    get: {
      operationId: "readHealth",
      tags: ["Server"],
      summary: "Whether the parts of the server work",
      description: "For load balancers and monitoring.",
      security: [],
      responses: { 200: json("The state of the parts.", "Health"), ...errors([404, 405, 503]) },
    },
  },
  "/openapi.json": {
    get: {
      operationId: "readDescription",
      tags: ["Server"],
      summary: "This document",
      description: "For tools that make clients, and for pages that show it.",
      security: [],
      responses: {
        200: {
          description: "An OpenAPI document.",
          headers: headers(EVERY),
          content: { "application/json": { schema: DOCUMENT, example: { openapi: "3.1.0", paths: {} } } },
        },
        ...errors([404, 405, 500, 503]),
      },
    },
  },
};
