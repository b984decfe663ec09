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
  "complexity",
  "frame_count",
  "frame_duration_ms",
  "safety_identifier",
  "svg",
]);
const REFUSED = ["mask", "markup", "file_id"];

/** Family A of the interface, as docs/families/seedream.md describes it. `undefined`: the request is refused. */
export function expectSeedream(
  input: FieldsCase,
  limits: Capabilities | undefined,
): ExpectedRequest | undefined {
  const { fields, operation } = input;
  if (operation === "native") return expectNative(input, limits);
  if (REFUSED.some((name) => name in fields) || !isValid(fields)) return undefined;
  if (fields["stream"] === true && (operation === "edit" || limits?.streaming === false)) return undefined;
  const references = [fields["image"] ?? []].flat();
  const images = references.map((value) => expectReference(value, MEDIA_TYPES));
  const maxReferences = limits?.references?.max ?? MAX_REFERENCES;
  if (images.length > maxReferences || !images.every((image) => image !== undefined)) return undefined;
  if (!fitsModel(fields, images, limits ?? {})) return undefined;
  const isSingle = limits?.sequentialImages === false;
  if (isSingle && !asksForOneImage(fields)) return undefined;
  const batch = isSingle ? {} : expectBatch(fields);
  const maxImages = countBatch(batch, images.length);
  if (maxImages > MAX_IMAGES || maxImages + images.length > MAX_IMAGES) return undefined;
  const { size, n: _n, ...rest } = fields;
  const asksForSize =
    isString(size) && size !== "adaptive" && (size !== "auto" || takesAutoSize(fields, limits));
  const responseFormat = isString(fields["response_format"])
    ? fields["response_format"]
    : input.defaultResponseFormat;
  const ignored = Object.keys(fields).filter(
    (name) => OPENAI_ONLY.has(name) && !(name === "background" && limits?.background !== undefined),
  );
  const unsent = new Set([
    ...ignored,
    ...(fields["prompt"] === "" ? ["prompt"] : []),
    ...(limits?.streaming === false ? ["stream"] : []),
    ...(isSingle ? ["sequential_image_generation", "sequential_image_generation_options"] : []),
  ]);
  const forwarded = Object.entries(rest).filter(([name]) => !unsent.has(name));
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

/** Whether the fields ask a model for one image, which cannot make several in one call. */
function asksForOneImage(fields: FieldsCase["fields"]): boolean {
  const { n, sequential_image_generation: mode, sequential_image_generation_options: options } = fields;
  if (mode !== undefined) return mode === "disabled";
  const max = toRecord(options)["max_images"] ?? 1;
  return typeof max === "number" && max <= 1 && (typeof n !== "number" || n <= 1);
}

/** With layers, some models choose the size themselves if the client sends `auto`. */
function takesAutoSize(fields: FieldsCase["fields"], limits: Capabilities | undefined): boolean {
  const layers = limits?.layers;
  return (
    fields["layer_decomposition"] === true &&
    typeof layers === "object" &&
    (layers.sizes?.includes("auto") ?? false)
  );
}

/** Whether the values that the model's row is about are among those that it states. */
function fitsModel(
  fields: FieldsCase["fields"],
  images: readonly string[],
  { size: sizes, layers, background, outputFormats }: Capabilities,
): boolean {
  const { size, output_format: format } = fields;
  const asksForLayers = fields["layer_decomposition"] === true;
  if (asksForLayers && layers === "none") return false;
  const rules = asksForLayers && typeof layers === "object" ? layers : undefined;
  if (rules !== undefined && (images.length !== 1 || /^data:image\/hei[cf];/.test(images[0] ?? "")))
    return false;
  if (isString(size) && size !== "auto" && size !== "adaptive") {
    if (rules?.sizes !== undefined) {
      if (!rules.sizes.some((other) => other.toUpperCase() === size.toUpperCase())) return false;
    } else if (sizes !== undefined && !isAllowedSize(size, sizes, "x")) return false;
  }
  if (isString(format) && !(outputFormats?.includes(format.toLowerCase()) ?? true)) return false;
  const wish = fields["background"];
  if (wish === undefined || background === undefined) return true;
  if (!isString(wish) || !background.values.includes(wish)) return false;
  if (wish !== "transparent") return true;
  const hasPng = images.some((image) => !image.startsWith("data:") || image.startsWith("data:image/png;"));
  const isJpeg = isString(format) && format.toLowerCase() === "jpeg";
  return !asksForLayers && !isJpeg && (hasPng || background.transparentNeedsPng !== true);
}

/** The native endpoint forwards everything but `n` as it came. */
function expectNative({ fields }: FieldsCase, limits: Capabilities | undefined): ExpectedRequest | undefined {
  const { n, ...upstreamFields } = fields;
  const { prompt, sequential_image_generation: mode, sequential_image_generation_options: options } = fields;
  const max = toRecord(options)["max_images"];
  const isUsable =
    (fields["layer_decomposition"] === true ? isAbsentOr(prompt ?? undefined, isString) : isFilled(prompt)) &&
    (mode === undefined || mode === null || mode === "auto" || mode === "disabled") &&
    (options === undefined || options === null || isObject(options)) &&
    (max === undefined || max === null || (isInteger(max) && max >= 1)) &&
    isBooleanOrAbsent(fields["stream"]) &&
    isBooleanOrAbsent(fields["layer_decomposition"]);
  if (!isUsable) return undefined;
  const images = [fields["image"]].flat().filter((image) => typeof image === "string");
  const maxImages = mode === "auto" ? (max ?? Math.max(1, MAX_IMAGES - images.length)) : 1;
  const most = limits?.sequentialImages === false ? MAX_IMAGES : (limits?.imagesPerCall ?? MAX_IMAGES);
  if (maxImages > most) return undefined;
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
    (fields["layer_decomposition"] === true
      ? isAbsentOr(fields["prompt"], isString)
      : isFilled(fields["prompt"])) &&
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
