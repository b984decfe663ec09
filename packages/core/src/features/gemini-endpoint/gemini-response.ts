import { isJsonObject, type JsonObject } from "../../util/json.js";
import {
  type DeliveredImage,
  type EventTranslation,
  readDelivered,
} from "../converted-requests/converted-requests.js";

/** What all objects of a response have. */
export interface GeminiContext {
  readonly modelVersion: string;
  readonly responseId: string;
}

/** Converts a response of `/v1` to one of `generateContent`: one candidate for each image. */
export function toGenerated({ data, usage }: JsonObject, context: GeminiContext): JsonObject {
  const delivered = (Array.isArray(data) ? data : [])
    .filter(isJsonObject)
    .flatMap((item) => readDelivered(item) ?? []);
  return { candidates: delivered.map(toCandidate), ...toUsage(usage), ...context };
}

/** Converts the events of images to those of `streamGenerateContent`: one candidate in each. */
export function createGeneratedTranslation(context: GeminiContext): EventTranslation {
  let images = 0;
  let hasUsage = false;
  const write = (members: JsonObject): string => `data: ${JSON.stringify({ ...members, ...context })}\n\n`;
  return {
    onImage(event) {
      const image = readDelivered(event);
      if (image === undefined) return "";
      hasUsage = isJsonObject(event["usage"]);
      return write({ candidates: [toCandidate(image, images++)], ...toUsage(event["usage"]) });
    },
    // An event without a candidate would make the SDK's chats forget the image.
    onEnd: (usage) => (hasUsage || Object.keys(usage).length === 0 ? "" : write(toUsage(usage))),
    onError: (error) => `data: ${JSON.stringify(toGeminiError(error, 502))}\n\n`,
  };
}

function toCandidate(image: DeliveredImage, index: number): JsonObject {
  // A link is left if the gateway could not download it.
  const part =
    "link" in image
      ? { fileData: { fileUri: image.link } }
      : { inlineData: { mimeType: image.mediaType, data: image.base64 } };
  return { content: { role: "model", parts: [part] }, finishReason: "STOP", index };
}

function toUsage(usage: unknown): JsonObject {
  if (!isJsonObject(usage)) return {};
  const {
    input_tokens: promptTokenCount,
    output_tokens: candidatesTokenCount,
    total_tokens: totalTokenCount,
  } = usage;
  return { usageMetadata: { promptTokenCount, candidatesTokenCount, totalTokenCount } };
}

/** Google's names of errors, by the HTTP status. */
const STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** Converts an error of the envelope to Google's shape, which has the gateway's code as its reason. */
export function toGeminiError({ message, code, param }: JsonObject, status: number): JsonObject {
  const name = STATUSES[status] ?? (status < 500 ? "INVALID_ARGUMENT" : "INTERNAL");
  const type = "type.googleapis.com/google.rpc.ErrorInfo";
  const metadata = typeof param === "string" ? { param } : {};
  const details = [{ "@type": type, reason: code, domain: "calotype", metadata }];
  return { error: { code: status, message, status: name, details } };
}
