import { type PixelSize, parsePixelSize, sideRatioOf } from "../pixel-size.js";
import { invalidParameter } from "./errors.js";
import type { ArkModel, ArkPreset } from "./models.js";

/** What the field `size` requests: a size in pixels, or the sizes of a preset, from which the model picks one. */
export type SizeRequest = PixelSize | readonly PixelSize[];

const defaultSize: PixelSize = { width: 2048, height: 2048 };
const maxSideRatio = 16;

/**
 * The sizes of each preset, the square one first, from Ark's image generation reference (November 2026). The sizes
 * of 1.5K are not documented: these are the 2K sizes times 0.75. The square one is where BytePlus' lower price ends.
 */
const presetSizes: Readonly<Record<ArkPreset, readonly PixelSize[]>> = {
  "1K": list("1024x1024 1152x864 864x1152 1280x720 720x1280 1248x832 832x1248 1512x648"),
  "1.5K": list("1536x1536 1728x1296 1296x1728 2136x1200 1200x2136 1872x1248 1248x1872 2352x1008"),
  "2K": list("2048x2048 2304x1728 1728x2304 2848x1600 1600x2848 2496x1664 1664x2496 3136x1344"),
  "3K": list("3072x3072 3456x2592 2592x3456 4096x2304 2304x4096 3744x2496 2496x3744 4704x2016"),
  "4K": list("4096x4096 4704x3520 3520x4704 5504x3040 3040x5504 4992x3328 3328x4992 6240x2656"),
};

function list(sizes: string): PixelSize[] {
  return sizes.split(" ").flatMap((size) => parsePixelSize(size, "x") ?? []);
}

/** Checks the field `size` of a request without layers. */
export function readSize(size: unknown, model: ArkModel): SizeRequest {
  if (size === undefined || size === null) return defaultSize;
  if (typeof size !== "string") throw invalidParameter("size", "expected a string");
  return findPreset(size, model) ?? readPixels(size, model);
}

/**
 * Checks the field `size` of a request with layers: a preset or `auto`, which is also the default here. The emulator
 * treats `auto` as 2K.
 */
export function readSizeOfLayers(size: unknown, model: ArkModel): SizeRequest {
  if (size === undefined || size === null || size === "auto") return presetSizes["2K"];
  const preset = typeof size === "string" ? findPreset(size, model) : undefined;
  if (preset !== undefined) return preset;
  const allowed = ["auto", ...model.presets].join(", ");
  throw invalidParameter("size", `with layer_decomposition expected one of ${allowed}`);
}

function findPreset(size: string, { presets }: ArkModel): readonly PixelSize[] | undefined {
  const preset = presets.find((name) => name === size.toUpperCase());
  return preset === undefined ? undefined : presetSizes[preset];
}

function readPixels(size: string, { presets, minPixels, maxPixels }: ArkModel): PixelSize {
  const parsed = parsePixelSize(size, "x");
  if (parsed === undefined) {
    const allowed = `<width>x<height> or one of ${presets.join(", ")}`;
    throw invalidParameter("size", `expected ${allowed}, got ${size}`);
  }
  const pixels = parsed.width * parsed.height;
  if (pixels < minPixels) throw invalidParameter("size", `image size must be at least ${minPixels} pixels`);
  if (pixels > maxPixels) throw invalidParameter("size", `image size must be at most ${maxPixels} pixels`);
  if (sideRatioOf(parsed) > maxSideRatio) {
    throw invalidParameter("size", "the aspect ratio of the image must be between 1/16 and 16");
  }
  return parsed;
}

/** The size of the image: the requested size, or the size of the preset that is nearest to the ratio. */
export function chooseSize(requested: SizeRequest, ratio: number): PixelSize {
  if (!isList(requested)) return requested;
  const distance = ({ width, height }: PixelSize) => Math.abs(Math.log(width / height / ratio));
  const [nearest = defaultSize] = requested.toSorted((a, b) => distance(a) - distance(b));
  return nearest;
}

function isList(requested: SizeRequest): requested is readonly PixelSize[] {
  return Array.isArray(requested);
}
