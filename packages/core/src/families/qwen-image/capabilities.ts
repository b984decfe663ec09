import { countMostPixels, parsePixels } from "../../images/size.js";
import type { Capabilities } from "../capabilities.js";
import { createRowFinder } from "../shared.js";
import { QWEN_IMAGE_MODELS } from "./models.js";

/** The interface's limit of reference images for every model of the family. */
export const MAX_REFERENCES = 3;

/** Media types that DashScope takes as reference images. */
export const REFERENCE_MEDIA_TYPES: ReadonlySet<string> = new Set(
  ["jpeg", "jpg", "png", "webp", "bmp", "tiff", "gif"].map((format) => `image/${format}`),
);

/** Reads the interface's `image-…` as `qwen-image-…`. */
export function toQwenImageRowName(name: string): string {
  return name.replace(/^image-/, "qwen-image-");
}

/** Finds what a model can do by its name, with or without a date: `qwen-image-2.0-pro-2026-06-22`. */
export const findQwenImageCapabilities = createRowFinder(QWEN_IMAGE_MODELS, {
  toRowName: toQwenImageRowName,
  buildDate: /-\d{4}-\d{2}-\d{2}$/,
});

/** The sizes that a model accepts with this number of reference images. */
export function findSizeLimits(
  capabilities: Capabilities | undefined,
  references: number,
): Capabilities["size"] {
  return (references > 0 ? capabilities?.sizeWithReferences : undefined) ?? capabilities?.size;
}

/** The most images that a model makes in one call. `undefined`: not known. */
export function findMostImages(
  capabilities: Capabilities | undefined,
  isSequence: boolean,
): number | undefined {
  return (isSequence ? capabilities?.imagesPerSequence : undefined) ?? capabilities?.imagesPerCall;
}

/** The images that a request without `n` can have. No source says how many images a sequence has then. */
export function countDefaultImages(capabilities: Capabilities | undefined, isSequence: boolean): number {
  return (isSequence ? capabilities?.imagesPerSequence : undefined) ?? capabilities?.defaultImages ?? 1;
}

/**
 * Returns the maximum number of pixels of an image of this size. For any other size, and without a size, it is the
 * maximum of the row, or `undefined` if the row has none.
 */
export function countMaxPixels(
  size: string | undefined,
  capabilities: Capabilities | undefined,
): number | undefined {
  const sides = parsePixels(size ?? "", "*");
  if (sides !== undefined) return sides[0] * sides[1];
  const [, thousands] = /^(\d{1,2})k$/i.exec(size ?? "") ?? [];
  if (thousands !== undefined) return (Number(thousands) * 1024) ** 2;
  return countMostPixels(capabilities?.size);
}
