import { readBase64Size } from "../../images/base64-size.js";
import type { ImageRequest, ImageResult, ReportedFailure, ResultImage, Usage } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { readCount, readText } from "../shared.js";
import { readGeminiError } from "./failure.js";

/**
 * Reads a `GenerateContentResponse`: the image parts of all candidates. Parts marked `thought` are drafts and are skipped.
 * A response without an image says why in `promptFeedback`, or in the candidate's `finishReason`; its tokens count all the
 * same.
 */
export function fromGemini(body: JsonObject, request: ImageRequest): ImageResult {
  const candidates = listObjects(body["candidates"]);
  const parts = candidates.flatMap(listParts);
  const images = parts.flatMap(readImage);
  const counts = readTokens(body["usageMetadata"], images.length * countImageTokens(request));
  const format = images.find(({ output_format }) => output_format !== undefined)?.output_format;
  return {
    images,
    errors: [],
    failure: images.length > 0 ? undefined : findFailure(body, candidates, parts),
    usage:
      images.length === 0 && counts === undefined
        ? undefined
        : { generated_images: images.length, ...counts },
    upstreamRequestId: readText(body["responseId"]),
    fields: {
      model: request.model,
      ...(format !== undefined && { output_format: format }),
      ...(counts !== undefined && { usage: writeDetails(counts) }),
    },
  };
}

/** The parts that are not thoughts. */
function listParts(candidate: JsonObject): readonly JsonObject[] {
  const content = candidate["content"];
  const parts = isJsonObject(content) ? listObjects(content["parts"]) : [];
  return parts.filter((part) => part["thought"] !== true);
}

function readImage(part: JsonObject): readonly (ResultImage & { readonly output_format?: string })[] {
  const inline = part["inlineData"];
  const base64 = isJsonObject(inline) ? readText(inline["data"]) : undefined;
  if (!isJsonObject(inline) || base64 === undefined) return [];
  const [, format] = /^image\/([a-z]{1,10})$/.exec(readText(inline["mimeType"]) ?? "") ?? [];
  if (format === undefined) return [];
  const size = readBase64Size(base64);
  return [{ b64_json: base64, ...(size !== undefined && { size }), output_format: format }];
}

/** The finish reasons that refuse the prompt or the image. All others mean that the provider failed. */
const CONTENT_REASONS: ReadonlySet<string> = new Set([
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
]);

/** The longest text of the model that is quoted. */
const MAX_QUOTED = 300;

/** Why there is no image. */
function findFailure(
  body: JsonObject,
  candidates: readonly JsonObject[],
  parts: readonly JsonObject[],
): ReportedFailure {
  const error = isJsonObject(body["error"]) ? readGeminiError(200, body["error"]) : undefined;
  if (error !== undefined) return error;
  const feedback = isJsonObject(body["promptFeedback"]) ? body["promptFeedback"] : {};
  const blocked = readText(feedback["blockReason"]);
  if (blocked !== undefined) {
    const message = readText(feedback["blockReasonMessage"]) ?? `The prompt was blocked (${blocked}).`;
    return { kind: "content", code: blocked, message };
  }
  const [candidate] = candidates;
  const reason = readText(candidate?.["finishReason"]) ?? "STOP";
  const stated = readText(candidate?.["finishMessage"]);
  if (CONTENT_REASONS.has(reason))
    return { kind: "content", code: reason, message: stated ?? `The image was refused (${reason}).` };
  const text = parts
    .map((part) => readText(part["text"]) ?? "")
    .join("")
    .trim();
  const quoted = text === "" ? "" : ` The model said: ${text.slice(0, MAX_QUOTED).toWellFormed()}`;
  return {
    kind: "server",
    code: reason === "STOP" ? "NO_IMAGE" : reason,
    message: stated ?? `The provider made no image (${reason}).${quoted}`,
  };
}

/**
 * The tokens of `usageMetadata`. Its details may lack a modality. Thoughts are billed as text output, and what is
 * neither image nor thought is text.
 */
function readTokens(metadata: unknown, maxOfImages: number): Usage | undefined {
  if (!isJsonObject(metadata)) return undefined;
  const count = (name: string): number | undefined => readCount(metadata[name]);
  const prompt = count("promptTokenCount");
  const candidates = count("candidatesTokenCount");
  const total = count("totalTokenCount");
  if ((prompt ?? candidates ?? total) === undefined) return undefined;
  const thoughts = count("thoughtsTokenCount") ?? 0;
  const output = (candidates ?? 0) + thoughts;
  return {
    output_tokens: output,
    total_tokens: Math.max(total ?? 0, (prompt ?? 0) + (count("toolUsePromptTokenCount") ?? 0) + output),
    ...readOutput(metadata["candidatesTokensDetails"], {
      candidates: candidates ?? 0,
      thoughts,
      maxOfImages,
    }),
    ...readInput(metadata, prompt),
  };
}

/** The image tokens of one image of the request. */
function countImageTokens({ maxTokensPerImage = 0, maxTextTokensPerImage = 0 }: ImageRequest): number {
  return maxTokensPerImage - maxTextTokensPerImage;
}

interface OutputTokens {
  readonly candidates: number;
  readonly thoughts: number;
  /** What the images of the response can have. 0: it has none. */
  readonly maxOfImages: number;
}

/** Without the modality of images, their tokens are those that their size has. */
function readOutput(details: unknown, { candidates, thoughts, maxOfImages }: OutputTokens): Usage {
  const stated = countModality(details, "IMAGE");
  const ofImages = Math.min(candidates, stated > 0 ? stated : maxOfImages);
  const ofText = candidates - ofImages + thoughts;
  return {
    ...(ofImages > 0 && { output_image_tokens: ofImages }),
    ...(ofText > 0 && { output_text_tokens: ofText }),
  };
}

/** Cached tokens are a part of the prompt, and are counted by themselves. */
function readInput(metadata: JsonObject, prompt: number | undefined): Usage {
  const details = metadata["promptTokensDetails"];
  if (prompt === undefined || !Array.isArray(details)) return {};
  const cached = Math.min(readCount(metadata["cachedContentTokenCount"]) ?? 0, prompt);
  const cachedImages = Math.min(countModality(metadata["cacheTokensDetails"], "IMAGE"), cached);
  const images = Math.min(Math.max(0, countModality(details, "IMAGE") - cachedImages), prompt - cached);
  return {
    input_text_tokens: prompt - cached - images,
    ...(images > 0 && { input_image_tokens: images }),
    ...(cached > 0 && { cached_input_tokens: cached }),
  };
}

function countModality(details: unknown, modality: string): number {
  return listObjects(details)
    .filter((entry) => entry["modality"] === modality)
    .reduce((sum, entry) => sum + (readCount(entry["tokenCount"]) ?? 0), 0);
}

/** The kinds of tokens in `usage` of OpenAI's images API. The gateway writes the counts. */
function writeDetails({ cached_input_tokens: cached, ...counts }: Usage): JsonObject {
  const { input_text_tokens, input_image_tokens, output_image_tokens, output_text_tokens } = counts;
  return {
    ...(input_text_tokens !== undefined && {
      input_tokens_details: {
        text_tokens: input_text_tokens,
        image_tokens: input_image_tokens ?? 0,
        ...(cached !== undefined && { cached_tokens: cached }),
      },
    }),
    ...(output_image_tokens !== undefined && {
      output_tokens_details: { image_tokens: output_image_tokens, text_tokens: output_text_tokens ?? 0 },
    }),
  };
}

function listObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
