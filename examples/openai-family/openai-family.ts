// A family from outside the package: image models of OpenAI, or of any server that speaks OpenAI's API.
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
 * Codes that mean something else than their HTTP status says. All but `content` and `server` may be sent again
 * elsewhere: nothing can have been made.
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

/** Checks what the gateway and the charge depend on; every other field is the provider's to judge. */
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

/** Images, and the provider's `usage` in the words of the interface: every image of `data` was made. */
function fromUpstream({ created, data, ...fields }: JsonObject): ImageResult {
  const images = Array.isArray(data) ? data.filter(isImage) : [];
  const reported = isJsonObject(fields["usage"]) ? fields["usage"] : {};
  const outputTokens = readCount(reported["output_tokens"]);
  const totalTokens = readCount(reported["total_tokens"]);
  return {
    images,
    errors: [],
    // What else the provider says, its own `usage` too, is answered as it came.
    fields,
    created: readCount(created),
    usage: {
      generated_images: images.length,
      ...(outputTokens !== undefined && { output_tokens: outputTokens }),
      ...(totalTokens !== undefined && { total_tokens: totalTokens }),
    },
  };
}

/** `{"error":{"message","type","param","code"}}`; servers that only resemble OpenAI leave some of it out. */
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
