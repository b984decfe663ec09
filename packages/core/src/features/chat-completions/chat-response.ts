import { isJsonObject, type JsonObject } from "../../util/json.js";
import {
  type DeliveredImage,
  type EventTranslation,
  readDelivered,
} from "../converted-requests/converted-requests.js";

/** What all objects of a response have. */
export interface ChatContext {
  /** The request's id. */
  readonly id: string;
  readonly model: string;
  /** In seconds since 1970. */
  readonly created: number;
}

/** Converts a response of `/v1` to a chat completion with one message that has all images. */
export function toCompletion(response: JsonObject, { id, model, created }: ChatContext): JsonObject {
  const { data, usage, extra } = response;
  const delivered = (Array.isArray(data) ? data : [])
    .filter(isJsonObject)
    .flatMap((item) => readDelivered(item) ?? []);
  return {
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: delivered.map(writeLink).join(""),
          refusal: null,
          images: delivered.map(writeImage),
        },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    ...(isJsonObject(usage) && { usage: toChatUsage(usage) }),
    // Such as the images that could not be made.
    extra,
  };
}

/** Converts the events of images to the chunks of a chat completion. */
export function createChunkTranslation(
  { id, model, created }: ChatContext,
  includesUsage: boolean,
): EventTranslation {
  let images = 0;
  const write = (members: JsonObject): string => {
    const chunk = { id: `chatcmpl-${id}`, object: "chat.completion.chunk", created, model, ...members };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  };
  const writeDelta = (delta: JsonObject, finish: string | null = null): string =>
    write({ choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
  return {
    onImage(event) {
      const delivered = readDelivered(event);
      if (delivered === undefined) return "";
      const index = images++;
      return writeDelta({
        ...(index === 0 && { role: "assistant" }),
        content: writeLink(delivered, index),
        images: [writeImage(delivered, index)],
      });
    },
    onEnd(usage) {
      const last = includesUsage ? write({ choices: [], usage: toChatUsage(usage) }) : "";
      return `${writeDelta({}, "stop")}${last}data: [DONE]\n\n`;
    },
    // The readers of OpenAI's clients throw at an event with an error.
    onError: (error) => `data: ${JSON.stringify({ error })}\n\n`,
  };
}

/** Clients show links in the text. Base64 in the text would be sent twice, and clients such as LibreChat remove it. */
function writeLink(image: DeliveredImage, index: number): string {
  if (!("link" in image)) return "";
  const link = image.link.replaceAll("(", "%28").replaceAll(")", "%29");
  return `${index === 0 ? "" : "\n\n"}![image ${index + 1}](${link})`;
}

/** The shape of OpenRouter, which chat programs read. */
function writeImage(image: DeliveredImage, index: number): JsonObject {
  const url = "link" in image ? image.link : `data:${image.mediaType};base64,${image.base64}`;
  return { type: "image_url", index, image_url: { url } };
}

/** Tokens that the provider does not report count as 0, because clients add them. */
function toChatUsage({
  input_tokens: input = 0,
  output_tokens: output = 0,
  total_tokens: total,
}: JsonObject): JsonObject {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: total ?? 0 };
}
