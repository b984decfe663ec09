import type { NormalizeContext } from "../family.js";

/** Ark's fields for several images from one request. Other options of the client are kept. */
export interface SequentialFields {
  readonly sequential_image_generation?: "auto" | "disabled" | undefined;
  readonly sequential_image_generation_options?:
    | { readonly max_images?: number | undefined; readonly [option: string]: unknown }
    | undefined;
}

/**
 * The rule for `n`: if it is above 1, sets `sequential_image_generation` to `auto` and `max_images` to `n`, each only if
 * the client did not set that field. If the client sent `disabled`, nothing is added. `checkCounts` in request.ts checks
 * the limits, which are in capabilities.ts.
 */
export function applyImageCount(n: number | undefined, explicit: SequentialFields): SequentialFields {
  if (n === undefined || n <= 1 || explicit.sequential_image_generation === "disabled") return explicit;
  const options = explicit.sequential_image_generation_options;
  return {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { ...options, max_images: options?.max_images ?? n },
  };
}

/**
 * The largest number of images that a request can make. Without `auto` this is one. With `auto` it is `max_images`, or
 * without that `maxReferencesAndImages` minus the references.
 */
export function countMaxImages(
  fields: SequentialFields,
  references: number,
  maxReferencesAndImages: number,
): number {
  if (fields.sequential_image_generation !== "auto") return 1;
  return (
    fields.sequential_image_generation_options?.max_images ?? Math.max(1, maxReferencesAndImages - references)
  );
}

/** Seedream 5.5 makes up to 99 layers; 5.0 Pro and Flash make up to 16 (Ark's reference, November 2026). */
const MAX_LAYERS = 16;
const MAX_LAYERS_OF_5_5 = 99;

/** Matches `seedream-5-5-261028`, and operators' own names such as `poster-5.5`. */
const IS_5_5 = /(?<!\d)5[-.]5(?!\d)/;

/**
 * How many images each image of a request becomes: one, or with `layer_decomposition` the base image and its layers.
 * The hold and the limit of images per minute count the most layers that the model may make. A model without a row
 * counts 16, as most models that know layers do, unless one of its names says that it is Seedream 5.5.
 */
export function countImagesOfEach(isDecomposed: boolean, context: NormalizeContext): number {
  if (!isDecomposed) return 1;
  const { model, upstreamModels = [], capabilities } = context;
  const isSeedream55 = [model, ...upstreamModels].some((name) => IS_5_5.test(name));
  return 1 + (capabilities?.maxLayers ?? (isSeedream55 ? MAX_LAYERS_OF_5_5 : MAX_LAYERS));
}
