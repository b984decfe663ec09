import { type GatewayError, invalidRequest } from "../../errors.js";
import { isReferenceImage } from "../../families/shared.js";
import type { ReferenceImage } from "../../images/reference-image.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

/** A chat completion that asks for images. */
export interface ChatRequest {
  /** Whether a stream ends with an event of its usage. */
  readonly includesUsage: boolean;
  /** The fields of `/v1/images/generations` without `model`. */
  readonly fields: JsonObject & { readonly image: readonly ReferenceImage[] };
}

/**
 * Fields of chat completions that say nothing about images, and those that are read here. All others are passed on as fields of
 * `/v1/images/generations`.
 */
const CHAT_FIELDS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "model",
  "messages",
  "image_config",
  "stream_options",
  "prompt",
  "image",
  "images",
  "audio",
  "frequency_penalty",
  "function_call",
  "functions",
  "include_reasoning",
  "logit_bias",
  "logprobs",
  "max_completion_tokens",
  "max_tokens",
  "metadata",
  "min_p",
  "modalities",
  "models",
  "moderation",
  "parallel_tool_calls",
  "plugins",
  "prediction",
  "presence_penalty",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "provider",
  "reasoning",
  "reasoning_effort",
  "repetition_penalty",
  "service_tier",
  "stop",
  "store",
  "temperature",
  "tool_choice",
  "tools",
  "top_a",
  "top_k",
  "top_logprobs",
  "top_p",
  "transforms",
  "verbosity",
  "web_search_options",
]);

/**
 * Converts the fields of a chat completion. The last message of the user has the prompt and the images.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function readChatRequest(fields: JsonObject): ChatRequest {
  const { messages, stream, stream_options: options, image_config: config, response_format: format } = fields;
  if (stream !== undefined && stream !== null && typeof stream !== "boolean")
    throw invalidRequest("stream must be true or false.", "stream");
  const { texts, images } = readLastMessage(messages);
  const prompt = texts.join("\n");
  if (prompt.trim() === "")
    throw invalidRequest("The last message of the user must have text: it is the prompt.", "messages");
  const passed = Object.entries(fields).filter(([name]) => !CHAT_FIELDS.has(name));
  return {
    includesUsage: isJsonObject(options) && options["include_usage"] === true,
    fields: {
      ...readImageConfig(config),
      ...Object.fromEntries(passed),
      // That of a chat completion is an object, and is about its text.
      response_format: isJsonObject(format) ? undefined : format,
      prompt,
      image: images,
    },
  };
}

/** The fields of OpenRouter's `image_config`. */
function readImageConfig(config: unknown): JsonObject {
  if (config === undefined || config === null) return {};
  if (!isJsonObject(config))
    throw invalidRequest('image_config must be an object such as {"aspect_ratio": "16:9"}.', "image_config");
  const { image_size: resolution, ...others } = config;
  return { ...(resolution !== undefined && { resolution }), ...others };
}

interface MessageContent {
  readonly texts: readonly string[];
  readonly images: readonly ReferenceImage[];
}

function readLastMessage(messages: unknown): MessageContent {
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidRequest("messages is required: a list with a message of the user.", "messages");
  const last = messages.findLastIndex((message) => isJsonObject(message) && message["role"] === "user");
  const message: unknown = messages[last];
  if (!isJsonObject(message))
    throw invalidRequest("messages must have a message of the role user.", "messages");
  const { content } = message;
  const param = `messages[${last}].content`;
  if (typeof content === "string") return { texts: [content], images: [] };
  if (!Array.isArray(content)) throw invalidRequest(`${param} must be a string or a list of parts.`, param);
  const parts = content.map((part: unknown, index) => readPart(part, `${param}[${index}]`));
  return {
    texts: parts.flatMap(({ text = [] }) => text),
    images: parts.flatMap(({ image = [] }) => image),
  };
}

interface MessagePart {
  readonly text?: string;
  readonly image?: ReferenceImage;
}

function readPart(part: unknown, param: string): MessagePart {
  if (!isJsonObject(part)) throw wrongPart(param);
  const { type, text, image_url: link } = part;
  if (type === "text" && typeof text === "string") return { text };
  if (type !== "image_url") throw wrongPart(param);
  const image = isJsonObject(link) ? link["url"] : link;
  if (isReferenceImage(image)) return { image };
  throw invalidRequest(`${param}.image_url.url must be a link or a data URL.`, `${param}.image_url`);
}

function wrongPart(param: string): GatewayError {
  return invalidRequest(
    `${param} must be {"type": "text", "text": "…"} or {"type": "image_url", "image_url": {"url": "…"}}.`,
    param,
  );
}
