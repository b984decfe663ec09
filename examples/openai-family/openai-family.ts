// A family from outside the package: image models of OpenAI, or of any server with OpenAI's API.
import type { Capabilities, ImageRequest, JsonObject, ResponseFormat } from "@calotype/core";
import {
  type Family,
  failureKindOfStatus,
  type ImageResult,
  invalidRequest,
  isJsonObject,
  type NormalizeContext,
  type ResultImage,
  readCount,
  readText,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamFailureKind,
} from "@calotype/core/families";

const LIMITS: Readonly<Record<string, Capabilities>> = { "dall-e-3": { imagesPerCall: 1 } };
const MAX_IMAGES = 10;

/**
 * Codes whose meaning differs from their HTTP status. Except for `content` and `server`, the request may be sent to
 * another channel, because no image can have been made.
 */
const KINDS: Readonly<Record<string, UpstreamFailureKind>> = {
  billing_hard_limit_reached: "credential",
  insufficient_quota: "quota",
};

/** `POST {base}/images/generations` in OpenAI's own fields. */
export const openaiFamily: Family = {
  name: "openai",
  defaultBaseUrl: "https://api.openai.com/v1",
  operations: new Set(["generate"]),
  reportsTokens: true,
  findCapabilities: (name) => LIMITS[name],
  normalize,
  toUpstream,
  fromUpstream,
  toFailure,
};

/** Checks the fields that the gateway or the charge depends on. The provider checks all other fields. */
function normalize(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { prompt, n = 1, stream = false } = fields;
  if (typeof prompt !== "string" || prompt === "") throw invalidRequest("prompt is required.", "prompt");
  if (stream !== false) throw invalidRequest("stream is not offered for this model: leave it out.", "stream");
  const most = context.capabilities?.imagesPerCall ?? MAX_IMAGES;
  if (typeof n !== "number" || !Number.isInteger(n) || n < 1 || n > most) {
    throw invalidRequest(`n must be a whole number from 1 to ${most}.`, "n");
  }
  const responseFormat = readResponseFormat(fields["response_format"]) ?? context.defaultResponseFormat;
  return {
    operation: context.operation,
    model: context.model,
    prompt,
    images: [],
    maxImages: n,
    responseFormat: responseFormat ?? "url",
    stream: false,
    upstreamFields: { ...fields, ...(responseFormat !== undefined && { response_format: responseFormat }) },
    ignored: [],
  };
}

function readResponseFormat(value: unknown): ResponseFormat | undefined {
  if (value === undefined || value === "url" || value === "b64_json") return value;
  throw invalidRequest('response_format must be "url" or "b64_json".', "response_format");
}

function toUpstream({ upstreamFields }: ImageRequest, upstreamModel: string): UpstreamCall {
  return {
    path: "/images/generations",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...upstreamFields, model: upstreamModel }),
  };
}

/**
 * Returns the images, and the provider's `usage` with the field names of the gateway's API. Every image of `data` was
 * made.
 */
function fromUpstream({ created, data, ...fields }: JsonObject): ImageResult {
  const images = Array.isArray(data) ? data.filter(isImage) : [];
  const reported = isJsonObject(fields["usage"]) ? fields["usage"] : {};
  const outputTokens = readCount(reported["output_tokens"]);
  const totalTokens = readCount(reported["total_tokens"]);
  return {
    images,
    errors: [],
    // The provider's other fields, including its own `usage`, are passed on unchanged.
    fields,
    created: readCount(created),
    usage: {
      generated_images: images.length,
      ...(outputTokens !== undefined && { output_tokens: outputTokens }),
      ...(totalTokens !== undefined && { total_tokens: totalTokens }),
    },
  };
}

/** Reads `{"error":{"message","type","param","code"}}`. Other servers with OpenAI's API omit some of these fields. */
function toFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const error = isJsonObject(body?.["error"]) ? body["error"] : {};
  const code = readText(error["code"]) ?? readText(error["type"]);
  return {
    kind: (code === undefined ? undefined : KINDS[code]) ?? failureKindOfStatus(status),
    code,
    message: readText(error["message"]),
    param: readText(error["param"]),
  };
}

function isImage(item: unknown): item is ResultImage {
  return isJsonObject(item) && (readText(item["url"]) ?? readText(item["b64_json"])) !== undefined;
}
