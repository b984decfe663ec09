import type { Capabilities } from "../capabilities.js";
import type { NormalizeContext } from "../family.js";
import { findSeedreamCapabilities } from "./capabilities.js";
import { SEEDREAM_MODELS } from "./models.js";

/** Ark's fields for several images from one request. Other options of the client are kept. */
export interface SequentialFields {
  readonly sequential_image_generation?: "auto" | "disabled" | undefined;
  readonly sequential_image_generation_options?:
    | { readonly max_images?: number | undefined; readonly [option: string]: unknown }
    | undefined;
}

/**
 * The rule for `n`: if it is above 1, sets `sequential_image_generation` to `auto` and `max_images` to `n`, each only if
 * the client did not set that field. If the client sent `disabled`, nothing is added. `model-checks.ts` checks the
 * limits.
 */
export function applyImageCount(n: number | undefined, explicit: SequentialFields): SequentialFields {
  if (n === undefined || n <= 1 || explicit.sequential_image_generation === "disabled") return explicit;
  const options = explicit.sequential_image_generation_options;
  return {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { ...options, max_images: options?.max_images ?? n },
  };
}

/** The most images of one call. */
export interface BatchLimits {
  readonly images: number;
  /** Together with the reference images. */
  readonly imagesAndReferences: number;
}

/**
 * The largest number of images that a call can make. Without `auto` this is one. With `auto` it is `max_images`, or
 * without that what the limits leave beside the references.
 */
export function countMaxImages(fields: SequentialFields, references: number, most: BatchLimits): number {
  if (fields.sequential_image_generation !== "auto") return 1;
  const explicit = fields.sequential_image_generation_options?.max_images;
  return explicit ?? Math.min(most.images, Math.max(1, most.imagesAndReferences - references));
}

/** The most layers that any model makes. */
const MOST_LAYERS = Math.max(...SEEDREAM_MODELS.map((row) => readMaxLayers(row) ?? 0));

/**
 * The most layers of each image of a request, beside the image itself: none without `layer_decomposition`.
 * The hold and the limit of images per minute count the most layers that the model may make. If the model's row does
 * not say how many, the rows of its names at the channels do. If a channel's name has no row either, such as an
 * endpoint identifier, the most layers of any model count.
 */
export function countLayersOfEach(isDecomposed: boolean, context: NormalizeContext): number {
  if (!isDecomposed) return 0;
  const own = readMaxLayers(context.capabilities);
  if (own !== undefined) return own;
  const { upstreamModels = [] } = context;
  const ofChannels = upstreamModels.map(
    (name) => readMaxLayers(findSeedreamCapabilities(name)) ?? MOST_LAYERS,
  );
  return ofChannels.length === 0 ? MOST_LAYERS : Math.max(...ofChannels);
}

/** `undefined` if the row does not say how many layers the model makes. */
function readMaxLayers(capabilities: Capabilities | undefined): number | undefined {
  return capabilities?.layers === "none" ? 0 : capabilities?.layers?.max;
}
