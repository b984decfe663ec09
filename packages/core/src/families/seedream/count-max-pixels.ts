import { parsePixels } from "../../images/size.js";
import type { ModelLimits } from "../model-limits.js";

/**
 * The largest image that each preset can mean, of the sizes that Ark's image generation reference lists for it
 * (November 2026). The model picks one of them by the ratio that suits the prompt.
 */
const PRESET_PIXELS: ReadonlyMap<string, number> = new Map([
  ["1K", 1024 * 1024],
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
 * The most pixels that an image of this size can have: width times height, or what the preset can mean where the
 * row has it. Of any other size, and of none, it is what the row allows; `undefined` where it does not say.
 */
export function countMaxPixels(size: unknown, limits: ModelLimits | undefined): number | undefined {
  const rules = limits?.size === "none" ? undefined : limits?.size;
  const most = rules?.totalPixels?.max;
  if (typeof size !== "string") return most;
  const pixels = parsePixels(size, "x");
  if (pixels !== undefined) return pixels[0] * pixels[1];
  const preset = size.toUpperCase();
  const isListed = rules?.presets?.some((name) => name.toUpperCase() === preset) ?? false;
  return (isListed ? PRESET_PIXELS.get(preset) : undefined) ?? most;
}
