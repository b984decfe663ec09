import { invalidRequest } from "../../errors.js";
import type { Family } from "../../families/family.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

/** The fields of `/v1/images/generations`, without `model`. */
export type GeneratedFields = JsonObject & { readonly image: readonly string[] };

/**
 * Converts the body of `generateContent`. The last content of the user has the prompt and the images. Names may be those of Google's
 * SDKs, or with underscores, as Google's REST API takes both.
 *
 * @param family the settings that only Gemini has are passed on to a family that takes them
 * @throws GatewayError `invalid_request_error`
 */
export function readGenerateContent(
  body: JsonObject,
  { fields: taken = {} }: Pick<Family, "fields">,
): GeneratedFields {
  const config = readObject(body, "generationConfig");
  const image = readObject(config, "imageConfig");
  checkModalities(read(config, "responseModalities"));
  const { texts, images } = readLastContent(body["contents"]);
  const prompt = texts.join("\n");
  if (prompt.trim() === "")
    throw invalidRequest("The last content of the user must have text: it is the prompt.", "contents");
  const others = Object.entries(config).filter(([name]) => !CONVERTED.has(toCamelCase(name)));
  const settings: JsonObject = {
    generationConfig: others.length > 0 ? Object.fromEntries(others) : undefined,
    safetySettings: read(body, "safetySettings"),
    systemInstruction: read(body, "systemInstruction"),
  };
  return {
    ...Object.fromEntries(Object.entries(settings).filter(([name]) => taken[name] !== undefined)),
    prompt,
    image: images,
    n: read(config, "candidateCount"),
    seed: config["seed"],
    aspect_ratio: read(image, "aspectRatio"),
    resolution: read(image, "imageSize"),
    response_format: "b64_json",
  };
}

/** What is converted to fields of `/v1`. */
const CONVERTED: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "candidateCount",
  "imageConfig",
  "responseModalities",
  "seed",
]);

function checkModalities(modalities: unknown): void {
  if (modalities === undefined) return;
  if (Array.isArray(modalities) && modalities.some((modality) => String(modality).toUpperCase() === "IMAGE"))
    return;
  const param = "generationConfig.responseModalities";
  throw invalidRequest(`${param} must include "IMAGE": this server makes images only.`, param);
}

interface ReadContent {
  readonly texts: readonly string[];
  readonly images: readonly string[];
}

function readLastContent(contents: unknown): ReadContent {
  if (!Array.isArray(contents) || contents.length === 0)
    throw invalidRequest("contents is required: a list with a content of the user.", "contents");
  const last = contents.findLastIndex(
    (content) => isJsonObject(content) && (content["role"] ?? "user") === "user",
  );
  const content: unknown = contents[last];
  const parts = isJsonObject(content) ? content["parts"] : undefined;
  const param = `contents[${Math.max(0, last)}].parts`;
  if (!Array.isArray(parts)) throw invalidRequest(`${param} must be a list of parts of the user.`, param);
  const found = parts.map((part: unknown, index) => readPart(part, `${param}[${index}]`));
  return {
    texts: found.flatMap(({ text = [] }) => text),
    images: found.flatMap(({ image = [] }) => image),
  };
}

interface FoundPart {
  readonly text?: string;
  readonly image?: string;
}

function readPart(part: unknown, param: string): FoundPart {
  if (isJsonObject(part)) {
    const { text } = part;
    if (typeof text === "string") return { text };
    const inline = readObject(part, "inlineData");
    const { data } = inline;
    const type = read(inline, "mimeType");
    if (typeof data === "string" && typeof type === "string") return { image: `data:${type};base64,${data}` };
    const link = read(readObject(part, "fileData"), "fileUri");
    if (typeof link === "string") return { image: link };
  }
  throw invalidRequest(
    `${param} must have text, inlineData with mimeType and data, or fileData with fileUri.`,
    param,
  );
}

/** @throws GatewayError `invalid_request_error` for a value that is not an object */
function readObject(object: JsonObject, name: string): JsonObject {
  const value = read(object, name) ?? {};
  if (isJsonObject(value)) return value;
  throw invalidRequest(`${name} must be an object.`, name);
}

/** Reads a member whose name has capital letters or underscores. */
function read(object: JsonObject, name: string): unknown {
  return object[name] ?? object[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}

function toCamelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
