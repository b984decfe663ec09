import { invalidRequest } from "../../errors.js";
import type { ReferenceImage } from "../../images/reference-image.js";
import { toReferenceImage } from "../../images/reference-image.js";
import { checkSize, type SizeStyle } from "../../images/size.js";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { NormalizeContext } from "../family.js";
import type { ModelLimits } from "../model-limits.js";
import { splitOpenAiOnly } from "../openai-only-fields.js";
import { countMaxPixels } from "./count-max-pixels.js";
import { MAX_IMAGES, MAX_REFERENCES, REFERENCE_MEDIA_TYPES } from "./limits.js";
import { type SeedreamFields, seedreamRequestSchema } from "./request-schema.js";
import { applyImageCount, countImagesOfEach, countMaxImages } from "./sequential-images.js";

/** Sizes by which clients ask for the provider's default. */
const DEFAULT_SIZES: ReadonlySet<unknown> = new Set(["auto", "adaptive"]);

const SIZE_STYLE: SizeStyle = { separator: "x", param: "size" };

/** The body of a client of `/v1`, checked and with the rule for `n` applied. */
export function normalizeSeedream(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { known, ignored } = splitOpenAiOnly(fields);
  const parsed = parseFields(seedreamRequestSchema, known);
  if (parsed.stream === true && context.operation === "edit") {
    throw invalidRequest(
      "stream is not offered for forms: send JSON with image to /v1/images/generations.",
      "stream",
    );
  }
  checkReferences([parsed.image ?? []].flat().length, context.limits);
  const images = readImages(parsed.image);
  const sequential = applyImageCount(parsed.n, parsed);
  const batch = countMaxImages(sequential, images.length, totalOf(context.limits));
  checkCounts(images.length, batch, parsed, context.limits);
  const responseFormat = parsed.response_format ?? context.defaultResponseFormat;
  const { n: _n, size: _size, ...upstreamFields } = known;
  put(upstreamFields, "size", readSize(parsed.size, context.limits));
  put(upstreamFields, "sequential_image_generation", sequential.sequential_image_generation);
  put(upstreamFields, "sequential_image_generation_options", sequential.sequential_image_generation_options);
  put(upstreamFields, "image", Array.isArray(parsed.image) ? images : images[0]);
  put(upstreamFields, "response_format", responseFormat);
  return {
    operation: context.operation,
    model: context.model,
    prompt: parsed.prompt,
    images,
    maxImages: batch * countImagesOfEach(parsed.layer_decomposition === true, context),
    maxPixels: countMaxPixels(parsed.size, context.limits),
    responseFormat: responseFormat ?? "url",
    stream: parsed.stream ?? false,
    upstreamFields,
    ignored,
  };
}

function readImages(image: SeedreamFields["image"]): readonly ReferenceImage[] {
  if (image === undefined) return [];
  if (!Array.isArray(image)) return [toReferenceImage(image, "image", REFERENCE_MEDIA_TYPES)];
  return image.map((value, index) => toReferenceImage(value, `image[${index}]`, REFERENCE_MEDIA_TYPES));
}

/** The size to ask for, if any. */
function readSize(size: string | undefined, limits: ModelLimits | undefined): string | undefined {
  if (size === undefined || DEFAULT_SIZES.has(size)) return undefined;
  if (limits?.size === "none")
    throw invalidRequest("size is not supported by this model: leave it out.", "size");
  if (limits?.size !== undefined) checkSize(size, limits.size, SIZE_STYLE);
  return size;
}

/** Checked before the images are read: a request may have tens of thousands. */
function checkReferences(references: number, limits: ModelLimits | undefined): void {
  const maxReferences = limits?.references?.max ?? MAX_REFERENCES;
  const minReferences = limits?.references?.min ?? 0;
  if (references < minReferences) {
    throw invalidRequest(
      `image holds ${references} reference images; this model needs ${minReferences}.`,
      "image",
    );
  }
  if (references > maxReferences) {
    throw invalidRequest(
      `image holds ${references} reference images; at most ${maxReferences} are allowed.`,
      "image",
    );
  }
}

function checkCounts(
  references: number,
  maxImages: number,
  fields: SeedreamFields,
  limits: ModelLimits | undefined,
): void {
  const explicit = fields.sequential_image_generation_options?.max_images !== undefined;
  const param = explicit ? "sequential_image_generation_options.max_images" : "n";
  const most = limits?.maxImages ?? MAX_IMAGES;
  if (maxImages > most)
    throw invalidRequest(`${param} asks for ${maxImages} images; at most ${most} are allowed.`, param);
  const total = totalOf(limits);
  if (references + maxImages > total) {
    throw invalidRequest(
      `${references} reference images and ${maxImages} images to make are more than the ${total} allowed together.`,
      param,
    );
  }
}

function totalOf(limits: ModelLimits | undefined): number {
  return limits?.maxReferencesAndImages ?? MAX_IMAGES;
}

/** Sets what there is. */
function put(fields: JsonObject, name: string, value: unknown): void {
  if (value !== undefined) fields[name] = value;
}
