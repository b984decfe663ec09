import type { Capabilities } from "@calotype/core/families";
import type { FieldsCase } from "../../grammar/fields.ts";
import { toRecord } from "../../to-record.ts";
import { expectReference, isAllowedSize } from "./expect-values.ts";

/** What a valid request becomes. */
export interface ExpectedRequest {
  readonly upstreamFields: Readonly<Record<string, unknown>>;
  readonly images: readonly string[];
  /** Absent if layers are asked for, whose number depends on the model. */
  readonly maxImages?: number | undefined;
  readonly responseFormat: string;
  readonly stream: boolean;
  readonly ignored: readonly string[];
}

const MAX_IMAGES = 15;
const MAX_REFERENCES = 14;
const MEDIA_TYPES = ["jpeg", "jpg", "png", "webp", "bmp", "tiff", "gif", "heic", "heif"];
const OPENAI_ONLY = new Set([
  "quality",
  "style",
  "user",
  "background",
  "moderation",
  "input_fidelity",
  "output_compression",
  "partial_images",
]);

/** Family A of the interface, as docs/families/seedream.md describes it. `undefined`: the request is refused. */
export function expectSeedream(
  input: FieldsCase,
  limits: Capabilities | undefined,
): ExpectedRequest | undefined {
  const { fields, operation } = input;
  if (operation === "native") return expectNative(input, limits);
  if ("mask" in fields || !isValid(fields)) return undefined;
  if (fields["stream"] === true && operation === "edit") return undefined;
  const references = [fields["image"] ?? []].flat();
  const images = references.map((value) => expectReference(value, MEDIA_TYPES));
  if (images.length > MAX_REFERENCES || !images.every((image) => image !== undefined)) return undefined;
  const batch = expectBatch(fields);
  const maxImages = countBatch(batch, images.length);
  if (maxImages > MAX_IMAGES || maxImages + images.length > MAX_IMAGES) return undefined;
  const { size, n: _n, ...rest } = fields;
  const asksForSize = isString(size) && size !== "auto" && size !== "adaptive";
  if (asksForSize && limits?.size !== undefined && !isAllowedSize(size, limits.size, "x")) return undefined;
  const responseFormat = isString(fields["response_format"])
    ? fields["response_format"]
    : input.defaultResponseFormat;
  const ignored = Object.keys(fields).filter((name) => OPENAI_ONLY.has(name));
  const forwarded = Object.entries(rest).filter(([name]) => !ignored.includes(name));
  return {
    upstreamFields: {
      ...Object.fromEntries(forwarded),
      ...batch,
      ...(asksForSize && { size }),
      ...(images.length > 0 && { image: Array.isArray(fields["image"]) ? images : images[0] }),
      ...(responseFormat !== undefined && { response_format: responseFormat }),
    },
    images,
    maxImages: fields["layer_decomposition"] === true ? undefined : maxImages,
    responseFormat: responseFormat ?? "url",
    stream: fields["stream"] === true,
    ignored,
  };
}

/** The native endpoint forwards everything but `n` as it came. */
function expectNative({ fields }: FieldsCase, limits: Capabilities | undefined): ExpectedRequest | undefined {
  const { n, ...upstreamFields } = fields;
  const { prompt, sequential_image_generation: mode, sequential_image_generation_options: options } = fields;
  const max = toRecord(options)["max_images"];
  const isUsable =
    isFilled(prompt) &&
    (mode === undefined || mode === null || mode === "auto" || mode === "disabled") &&
    (options === undefined || options === null || isObject(options)) &&
    (max === undefined || max === null || (isInteger(max) && max >= 1)) &&
    isBooleanOrAbsent(fields["stream"]) &&
    isBooleanOrAbsent(fields["layer_decomposition"]);
  if (!isUsable) return undefined;
  const images = [fields["image"]].flat().filter((image) => typeof image === "string");
  const maxImages = mode === "auto" ? (max ?? Math.max(1, MAX_IMAGES - images.length)) : 1;
  if (maxImages > (limits?.imagesPerCall ?? MAX_IMAGES)) return undefined;
  return {
    upstreamFields,
    images,
    maxImages: fields["layer_decomposition"] === true ? undefined : maxImages,
    responseFormat: fields["response_format"] === "b64_json" ? "b64_json" : "url",
    stream: fields["stream"] === true,
    ignored: n === undefined ? [] : ["n"],
  };
}

/** The fields for several images: the rule for `n`, rule 3 of the interface's endpoints. */
export function expectBatch(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { n, sequential_image_generation: mode, sequential_image_generation_options: options } = fields;
  const explicit = {
    ...(mode !== undefined && { sequential_image_generation: mode }),
    ...(options !== undefined && { sequential_image_generation_options: options }),
  };
  if (typeof n !== "number" || n <= 1 || mode === "disabled") return explicit;
  return {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { max_images: n, ...toRecord(options) },
  };
}

function countBatch(batch: Readonly<Record<string, unknown>>, references: number): number {
  if (batch["sequential_image_generation"] !== "auto") return 1;
  const max = toRecord(batch["sequential_image_generation_options"])["max_images"];
  return max === undefined ? Math.max(1, MAX_IMAGES - references) : Number(max);
}

/** The types of the fields that the gateway reads. */
function isValid(fields: FieldsCase["fields"]): boolean {
  const max = toRecord(fields["sequential_image_generation_options"])["max_images"];
  return (
    isFilled(fields["prompt"]) &&
    isAbsentOr(fields["n"], isInteger) &&
    ["size", "output_format"].every((name) => isAbsentOr(fields[name], isString)) &&
    isAbsentOr(fields["response_format"], (value) => value === "url" || value === "b64_json") &&
    ["watermark", "stream", "layer_decomposition"].every((name) =>
      isAbsentOr(fields[name], (value) => typeof value === "boolean"),
    ) &&
    isAbsentOr(fields["image"], isReferences) &&
    isAbsentOr(fields["seed"], isInteger) &&
    isAbsentOr(fields["guidance_scale"], Number.isFinite) &&
    isAbsentOr(fields["sequential_image_generation"], (value) => value === "auto" || value === "disabled") &&
    isAbsentOr(fields["sequential_image_generation_options"], isObject) &&
    isAbsentOr(max, (value) => isInteger(value) && value >= 1) &&
    isAbsentOr(fields["optimize_prompt_options"], isObject)
  );
}

function isReferences(value: unknown): boolean {
  return isString(value) || (Array.isArray(value) && value.length > 0 && value.every(isString));
}

function isAbsentOr(value: unknown, isUsable: (value: unknown) => boolean): boolean {
  return value === undefined || isUsable(value);
}

function isBooleanOrAbsent(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "boolean";
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isFilled(value: unknown): boolean {
  return isString(value) && value !== "";
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
