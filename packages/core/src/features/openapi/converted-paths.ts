import { headers, imageErrors, json, jsonContent, OF_IMAGES, parameters } from "./components.js";
import type { JsonSchema } from "./request-schemas.js";
import { always, integer, list, object, orNull, ref, string } from "./response-schemas.js";

/*
 * The paths of other interfaces, whose requests are converted to those of `/v1`: chat completions, Google's `generateContent`
 * and DashScope's tasks.
 */

const OF_REQUESTS = parameters("idempotency-key", "x-calotype-tags");
const MAY_BE_MISSING = "Only if the operator turned it on.";

/** @param schema the schema of the data of each event */
function streamOf(schema: string): JsonSchema {
  return {
    schema: { type: "string", description: `Server-sent events without names. Their data is \`${schema}\`.` },
    "x-events": { message: ref(schema) },
  };
}

function body(schema: string, example: JsonSchema): JsonSchema {
  return { required: true, content: { "application/json": { schema: ref(schema), example } } };
}

const CHAT_FOX = { model: "seedream-4-5-251128", messages: [{ role: "user", content: "a red fox" }] };
const GEMINI_FOX = { contents: [{ role: "user", parts: [{ text: "a red fox" }] }] };
const DASHSCOPE_FOX = {
  model: "image-max",
  input: { messages: [{ role: "user", content: [{ text: "a red fox" }] }] },
};
const GOOGLE_KEY = [{ googleKey: [] }, { bearer: [] }];
const SUBMISSION = {
  tags: ["Other interfaces"],
  parameters: [...parameters("x-dashscope-async"), ...OF_REQUESTS],
  requestBody: body("DashScopeTaskRequest", DASHSCOPE_FOX),
  responses: { 200: json("The task.", "DashScopeTask", OF_IMAGES), ...imageErrors("DashScopeError") },
};

export const CONVERTED_PATHS: JsonSchema = {
  "/v1/chat/completions": {
    post: {
      operationId: "createChatCompletion",
      tags: ["Other interfaces"],
      summary: "Make images with a chat completion",
      description: `The last message of the user has the prompt and the images. Further fields are those of \`/v1/images/generations\`. ${MAY_BE_MISSING}`,
      parameters: OF_REQUESTS,
      requestBody: body("ChatCompletionRequest", CHAT_FOX),
      responses: {
        200: {
          description: "The images, or with `stream: true` chunks with an image each.",
          headers: headers([...OF_IMAGES, "x-accel-buffering"]),
          content: {
            "application/json": jsonContent("ChatCompletion"),
            "text/event-stream": streamOf("ChatCompletionChunk"),
          },
        },
        ...imageErrors(),
      },
    },
  },
  "/v1beta/models/{model}:generateContent": {
    post: {
      operationId: "generateContent",
      tags: ["Other interfaces"],
      summary: "Make images with Google's request and response",
      description: `Below \`/v1\` too. The last content of the user has the prompt and the images. ${MAY_BE_MISSING}`,
      security: GOOGLE_KEY,
      parameters: [...parameters("model"), ...OF_REQUESTS],
      requestBody: body("GenerateContentRequest", GEMINI_FOX),
      responses: {
        200: json("One candidate for each image.", "GenerateContentResponse", OF_IMAGES),
        ...imageErrors("GeminiError"),
      },
    },
  },
  "/v1beta/models/{model}:streamGenerateContent": {
    post: {
      operationId: "streamGenerateContent",
      tags: ["Other interfaces"],
      summary: "As generateContent, with an event for each image",
      description: MAY_BE_MISSING,
      security: GOOGLE_KEY,
      parameters: [...parameters("model", "alt"), ...OF_REQUESTS],
      requestBody: body("GenerateContentRequest", GEMINI_FOX),
      responses: {
        200: {
          description: "The images.",
          headers: headers([...OF_IMAGES, "x-accel-buffering"]),
          content: { "text/event-stream": streamOf("GenerateContentResponse") },
        },
        ...imageErrors("GeminiError"),
      },
    },
  },
  "/api/v1/services/aigc/image-generation/generation": {
    post: {
      ...SUBMISSION,
      operationId: "createDashScopeTask",
      summary: "Submit a task with DashScope's request",
      description: `\`multimodal-generation/generation\` takes tasks too, with the same header. ${MAY_BE_MISSING}`,
    },
  },
  "/api/v1/services/aigc/text2image/image-synthesis": {
    post: {
      ...SUBMISSION,
      operationId: "createTextToImageTask",
      summary: "Submit a task as DashScope's older SDKs do",
      description: MAY_BE_MISSING,
    },
  },
  "/api/v1/services/aigc/image2image/image-synthesis": {
    post: {
      ...SUBMISSION,
      operationId: "createImageToImageTask",
      summary: "Submit an edit as DashScope's older SDKs do",
      description: MAY_BE_MISSING,
    },
  },
  "/api/v1/tasks/{task_id}": {
    get: {
      operationId: "readDashScopeTask",
      tags: ["Other interfaces"],
      summary: "Read a task in DashScope's shape",
      description: MAY_BE_MISSING,
      parameters: parameters("task_id"),
      responses: { 200: json("The task.", "DashScopeTask"), ...imageErrors("DashScopeError") },
    },
  },
  "/api/v1/tasks/{task_id}/cancel": {
    post: {
      operationId: "cancelDashScopeTask",
      tags: ["Other interfaces"],
      summary: "Cancel a task that was not sent yet",
      description: MAY_BE_MISSING,
      parameters: parameters("task_id"),
      responses: { 200: json("It is cancelled.", "DashScopeTask"), ...imageErrors("DashScopeError") },
    },
  },
};

const anything = { type: "object", additionalProperties: true };
const model = string("The service's name of the model.");
const chatImage = object(
  {
    type: always("image_url"),
    index: integer("The index of the image, from 0."),
    image_url: object({ url: string("A link, or a data URL.") }, ["url"], "Where the image is."),
  },
  ["type", "index", "image_url"],
  "An image, as OpenRouter sends it.",
);
const chatUsage = object(
  {
    prompt_tokens: integer("The tokens of the request."),
    completion_tokens: integer("The tokens of the images."),
    total_tokens: integer("All tokens."),
  },
  ["prompt_tokens", "completion_tokens", "total_tokens"],
  "What the provider reported.",
);
const chatMessage = {
  role: always("assistant"),
  content: string("Markdown with the images that have links."),
  images: list(chatImage, "The images."),
};
const finish = orNull(string("`stop` at the end."));

/** The schemas of {@link CONVERTED_PATHS}. They list what the gateway reads and writes. */
export const CONVERTED_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  ChatCompletionRequest: object(
    {
      model,
      messages: {
        ...list(
          object(
            {
              role: string("`user`, or that of a message that is not read."),
              content: {
                anyOf: [{ type: "string" }, list(anything)],
                description: "Text, or parts of the types `text` and `image_url`.",
              },
            },
            ["role"],
            "A message.",
          ),
          "The conversation. The last message of the user is read.",
        ),
        minItems: 1,
      },
      stream: { type: ["boolean", "null"], description: "Whether the images are sent as events." },
      image_config: { ...anything, description: "As OpenRouter has it: `aspect_ratio`, `image_size`." },
    },
    ["model", "messages"],
    "A chat completion of a model that makes images.",
  ),
  ChatCompletion: object(
    {
      id: string("The id of the completion."),
      object: always("chat.completion"),
      created: integer("When the images were made, in seconds since 1970."),
      model,
      choices: list(
        object(
          {
            index: integer("0"),
            message: object(chatMessage, ["role", "content", "images"], "The message with the images."),
            finish_reason: finish,
          },
          ["index", "message", "finish_reason"],
        ),
        "One choice with all images.",
      ),
      usage: chatUsage,
    },
    { allBut: ["usage"] },
    "The images, as the message of a chat completion.",
  ),
  ChatCompletionChunk: object(
    {
      id: string("The id of the completion."),
      object: always("chat.completion.chunk"),
      created: integer("When the request came, in seconds since 1970."),
      model,
      choices: list(
        object(
          {
            index: integer("0"),
            delta: object(chatMessage, [], "What is added to the message."),
            finish_reason: finish,
          },
          ["index", "delta", "finish_reason"],
        ),
        "One choice.",
      ),
      usage: chatUsage,
    },
    { allBut: ["usage"] },
    "A chunk, or at the end an object with `error` in its place. The stream ends with `data: [DONE]`.",
  ),
  GenerateContentRequest: object(
    {
      contents: {
        ...list(anything),
        minItems: 1,
        description: "Parts are `text`, `inlineData` or `fileData`.",
      },
      generationConfig: {
        ...anything,
        description: "`candidateCount`, `seed`, `imageConfig` and what the model itself takes.",
      },
    },
    ["contents"],
    "Google's request.",
  ),
  GenerateContentResponse: object(
    {
      candidates: list(
        object(
          {
            index: integer("The index of the image, from 0."),
            content: object(
              { role: always("model"), parts: list(anything, "The image, as `inlineData` or `fileData`.") },
              ["role", "parts"],
              "The content with the image.",
            ),
            finishReason: always("STOP"),
          },
          ["index", "content", "finishReason"],
        ),
        "Absent in an event that has the usage only.",
      ),
      usageMetadata: object(
        {
          promptTokenCount: integer("The tokens of the request."),
          candidatesTokenCount: integer("The tokens of the images."),
          totalTokenCount: integer("All tokens."),
        },
        [],
        "What the provider reported.",
      ),
      modelVersion: model,
      responseId: string("The id of the request."),
    },
    ["modelVersion", "responseId"],
    "Google's response.",
  ),
  GeminiErrorBody: object(
    {
      error: object(
        {
          code: integer("The HTTP status."),
          status: string("Google's name of the error."),
          message: string("What was wrong, and what to send instead."),
          details: list(anything, "The gateway's code as `reason`."),
        },
        ["code", "status", "message", "details"],
        "What was wrong.",
      ),
    },
    ["error"],
    "Google's error.",
  ),
  DashScopeTaskRequest: object(
    {
      model,
      input: { ...anything, description: "`messages`, or `prompt` and images." },
      parameters: { ...anything, description: "`size`, `n` and what the model itself takes." },
    },
    ["model", "input"],
    "DashScope's request of a task.",
  ),
  DashScopeTask: object(
    {
      request_id: string("The id of the request."),
      output: object(
        {
          task_id: string("The id of the task."),
          task_status: {
            type: "string",
            enum: ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"],
            description: "Where the task is.",
          },
          choices: list(anything, "The images, as image generation has them."),
          results: list(anything, "The images, as image synthesis has them."),
          code: string("Why it failed."),
          message: string("Why it failed."),
        },
        ["task_id", "task_status"],
        "The task, and its images at its end.",
      ),
      usage: object({ image_count: integer("The number of images.") }, ["image_count"], "What was made."),
    },
    ["request_id"],
    "A task in DashScope's shape.",
  ),
};
