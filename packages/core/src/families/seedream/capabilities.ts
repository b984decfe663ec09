import { parsePixels } from "../../images/size.js";
import type { Capabilities } from "../capabilities.js";
import { createRowFinder } from "../shared.js";
import { SEEDREAM_MODELS } from "./models.js";

/** Ark's limit of reference images, for all models. */
export const MAX_REFERENCES = 14;
/** Ark's limit of images in one request, for all models; also the limit of references and images together. */
export const MAX_IMAGES = 15;

/** Media types that Ark takes as reference images. */
export const REFERENCE_MEDIA_TYPES: ReadonlySet<string> = new Set(
  ["jpeg", "jpg", "png", "webp", "bmp", "tiff", "gif", "heic", "heif"].map((format) => `image/${format}`),
);

/** Removes the prefix of Volcengine Ark (`doubao-`) or BytePlus ModelArk (`dola-`). */
export function toSeedreamRowName(name: string): string {
  return name.replace(/^(?:doubao|dola)-/, "");
}

/** Finds what a model can do by its name, with or without a date: `doubao-seedream-5-0-pro-260628`. */
export const findSeedreamCapabilities = createRowFinder(SEEDREAM_MODELS, {
  toRowName: toSeedreamRowName,
  buildDate: /-\d{6}$/,
});

/**
 * The largest image that each preset can mean, of the sizes that Ark's image generation reference lists for it
 * (November 2026). The model picks one of them by the ratio that suits the prompt.
 */
const PRESET_PIXELS: ReadonlyMap<string, number> = new Map([
  ["1K", 1024 * 1024],
  // The reference lists no sizes for 1.5K. They are smaller than those of 2K.
  ["1.5K", 2848 * 1600],
  ["2K", 2848 * 1600],
  ["3K", 4704 * 2016],
  ["4K", 4096 * 4096],
]);

/**
 * Returns the number of pixels of the requested size. For a preset, this is its largest image. Returns `undefined` if
 * no size was requested, or if the size is not known in this file.
 */
export function countRequestedPixels(size: unknown): number | undefined {
  if (typeof size !== "string") return undefined;
  const sides = parsePixels(size, "x");
  return sides ? sides[0] * sides[1] : PRESET_PIXELS.get(size.toUpperCase());
}

/**
 * Returns the maximum number of pixels of an image of this size: width times height, or the largest image of a preset
 * that the row lists. For any other size, and without a size, it is the maximum of the row, or `undefined` if the row
 * has none.
 */
export function countMaxPixels(size: unknown, capabilities: Capabilities | undefined): number | undefined {
  const rules = capabilities?.size === "none" ? undefined : capabilities?.size;
  const most = rules?.totalPixels?.max;
  if (typeof size !== "string") return most;
  const pixels = parsePixels(size, "x");
  if (pixels !== undefined) return pixels[0] * pixels[1];
  const preset = size.toUpperCase();
  const isListed = rules?.presets?.some((name) => name.toUpperCase() === preset) ?? false;
  return (isListed ? PRESET_PIXELS.get(preset) : undefined) ?? most;
}

/** 4096 × 4096: the most that Ark's image generation reference states for any Seedream model (November 2026). */
const MOST_PIXELS = 16_777_216;
/** Pixels that make one token, by the same reference: an image of 2048 × 2048 is reported with 16,384. */
const PIXELS_PER_TOKEN = 256;

/** The most tokens that Ark reports for an image of at most this number of pixels. */
export function countMaxTokens(maxPixels = MOST_PIXELS): number {
  return Math.ceil(maxPixels / PIXELS_PER_TOKEN);
}
