import { isJsonObject, type JsonObject } from "../json.js";
import { type PixelSize, parseRatio, sizeOfRatio } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { BadReference } from "../references/bad-reference.js";
import { decodeBase64 } from "../references/data-url.js";
import { decodeImage, type LoadedReference } from "../references/decode-image.js";
import { geminiRefusal, invalidArgument } from "./errors.js";
import { findGeminiModel, type GeminiImageSize, type GeminiModel, ratiosOf } from "./models.js";

/** A request that was checked, with the defaults of all fields. */
export interface GeminiRequest {
  readonly model: GeminiModel;
  /** All texts of the contents. */
  readonly prompt: string;
  readonly references: readonly LoadedReference[];
  readonly size: PixelSize;
  /** The output tokens of one image. */
  readonly tokensPerImage: number;
  readonly seed: number | undefined;
  readonly hasText: boolean;
  readonly hasImage: boolean;
  readonly includesThoughts: boolean;
}

const fieldsOfBody = [
  "contents",
  "generationConfig",
  "safetySettings",
  "systemInstruction",
  "tools",
  "toolConfig",
  "cachedContent",
];
const fieldsOfImageConfig = ["aspectRatio", "imageSize"];
const sides: Readonly<Record<GeminiImageSize, number>> = { "512": 512, "1K": 1024, "2K": 2048, "4K": 4096 };

/** Checks a request and decodes its images. Links are never opened: Gemini takes only bytes and its own files. */
export async function readGeminiRequest({ body, params }: ProviderCall): Promise<GeminiRequest> {
  const name = params.model ?? "";
  const model = findGeminiModel(name);
  if (model === undefined) {
    throw geminiRefusal(
      "NOT_FOUND",
      `models/${name} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
    );
  }
  refuseUnknown(body, fieldsOfBody, "");
  const parts = readParts(body.contents);
  const config = readObject(body.generationConfig, "generation_config");
  const imageConfig = readObject(config.imageConfig, "generation_config.image_config");
  refuseUnknown(imageConfig, fieldsOfImageConfig, " at 'generation_config.image_config'");
  const { candidateCount, seed } = config;
  if (candidateCount !== undefined && candidateCount !== 1) {
    throw invalidArgument("Multiple candidates is not enabled for this model");
  }
  if (seed !== undefined && !Number.isInteger(seed)) throw invalidValue("generation_config.seed", seed);
  const modalities = readModalities(config.responseModalities);
  const imageSize = readImageSize(imageConfig.imageSize, model);
  const ratio = readRatio(imageConfig.aspectRatio, model);

  const references = await readImages(parts, model);
  const last = references.at(-1);
  const ratioOfReference = last === undefined ? 1 : last.width / last.height;
  return {
    model,
    prompt: parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n"),
    references,
    size: sizeOfRatio(ratio ?? ratioOfReference, { pixels: sides[imageSize ?? "1K"] ** 2, step: 16 }),
    tokensPerImage: (imageSize === undefined ? undefined : model.tokens[imageSize]) ?? model.usualTokens,
    seed: typeof seed === "number" ? seed : undefined,
    hasText: modalities.includes("TEXT"),
    hasImage: modalities.includes("IMAGE"),
    includesThoughts:
      model.thinks && readObject(config.thinkingConfig, "thinking_config").includeThoughts === true,
  };
}

function readParts(contents: unknown): JsonObject[] {
  if (!Array.isArray(contents) || contents.length === 0)
    throw invalidArgument("* GenerateContentRequest.contents: contents is not specified");
  const parts = contents.flatMap((content: unknown): unknown[] =>
    isJsonObject(content) && Array.isArray(content.parts) ? [...(content.parts as unknown[])] : [],
  );
  if (parts.length === 0)
    throw invalidArgument("* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.");
  return parts.map((part, index) => {
    if (!isJsonObject(part)) throw invalidValue(`contents[0].parts[${index}]`, part);
    return part;
  });
}

/** `inlineData`, also as `inline_data`: both forms of a name are accepted, as everywhere in Google's JSON. */
async function readImages(parts: readonly JsonObject[], model: GeminiModel): Promise<LoadedReference[]> {
  const file = parts.map((part) => part.fileData ?? part.file_data).find(isJsonObject);
  if (file !== undefined) {
    const uri = String(file.fileUri ?? file.file_uri);
    throw geminiRefusal(
      "PERMISSION_DENIED",
      `You do not have permission to access the File ${uri} or it may not exist.`,
    );
  }
  const images = parts.map((part) => part.inlineData ?? part.inline_data).filter(isJsonObject);
  if (images.length > model.maxImages) {
    throw invalidArgument(`The number of images must not exceed ${model.maxImages}, got ${images.length}.`);
  }
  return Promise.all(images.map(readImage));
}

async function readImage(image: JsonObject): Promise<LoadedReference> {
  const { data } = image;
  const mimeType = image.mimeType ?? image.mime_type;
  if (typeof data !== "string") throw invalidArgument("Invalid value at 'inline_data.data' (TYPE_BYTES)");
  if (typeof mimeType !== "string" || !mimeType.startsWith("image/")) {
    throw invalidArgument(`Unsupported MIME type: ${String(mimeType)}`);
  }
  try {
    return await decodeImage(decodeBase64(data));
  } catch (error) {
    if (!(error instanceof BadReference)) throw error;
    if (error.problem === "broken-base64") {
      throw invalidArgument(
        "Invalid value at 'contents[0].parts[0].inline_data.data' (TYPE_BYTES), Base64 decoding failed",
      );
    }
    throw invalidArgument(
      "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    );
  }
}

function readModalities(value: unknown): readonly unknown[] {
  if (value === undefined) return ["TEXT", "IMAGE"];
  if (!Array.isArray(value) || value.length === 0)
    throw invalidValue("generation_config.response_modalities", value);
  const list: unknown[] = value;
  const wrong = list.find((modality) => modality !== "TEXT" && modality !== "IMAGE");
  if (wrong !== undefined) throw invalidValue("generation_config.response_modalities", wrong);
  return list;
}

function readImageSize(value: unknown, { tokens, name }: GeminiModel): GeminiImageSize | undefined {
  if (value === undefined) return undefined;
  const sizes = (["512", "1K", "2K", "4K"] as const).filter((size) => tokens[size] !== undefined);
  const size = sizes.find((candidate) => candidate === value);
  if (size !== undefined) return size;
  if (sizes.length === 0) throw invalidArgument(`image_size is not supported for ${name}.`);
  throw invalidArgument(
    `Unsupported image_size: ${JSON.stringify(value)}. Supported values are ${sizes.join(", ")}.`,
  );
}

function readRatio(value: unknown, model: GeminiModel): number | undefined {
  if (value === undefined) return undefined;
  const ratios = ratiosOf(model);
  if (typeof value === "string" && ratios.includes(value)) return parseRatio(value);
  throw invalidArgument(`aspect_ratio must be one of ${ratios.join(", ")}.`);
}

function readObject(value: unknown, path: string): JsonObject {
  if (value === undefined) return {};
  if (!isJsonObject(value)) throw invalidValue(path, value);
  return value;
}

function refuseUnknown(body: JsonObject, known: readonly string[], place: string): void {
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw invalidArgument(
      `Invalid JSON payload received. Unknown name "${unknown}"${place}: Cannot find field.`,
    );
  }
}

function invalidValue(path: string, value: unknown) {
  return invalidArgument(`Invalid value at '${path}', ${JSON.stringify(value)}`);
}
