import type { ArkModel, ArkPreset } from "./models.js";
import { invalidParameter } from "./refusals.js";

export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

const defaultSize: PixelSize = { width: 2048, height: 2048 };

/** The sizes that the model chooses from when it is given a preset. */
const presetSizes: Readonly<Record<ArkPreset, readonly string[]>> = {
  "1K": ["1024x1024", "1152x864", "864x1152", "1280x720", "720x1280", "1248x832", "832x1248", "1512x648"],
  "2K": [
    "2048x2048",
    "2304x1728",
    "1728x2304",
    "2848x1600",
    "1600x2848",
    "2496x1664",
    "1664x2496",
    "3136x1344",
  ],
  "3K": [
    "3072x3072",
    "3456x2592",
    "2592x3456",
    "4096x2304",
    "2304x4096",
    "3744x2496",
    "2496x3744",
    "4704x2016",
  ],
  "4K": [
    "4096x4096",
    "4704x3520",
    "3520x4704",
    "5504x3040",
    "3040x5504",
    "4992x3328",
    "3328x4992",
    "6240x2656",
  ],
};

const widestRatio = 16;

/** The size to draw: exactly what was asked in pixels, or of a preset the size nearest to the wished ratio. */
export function chooseSize(size: unknown, model: ArkModel, wishedRatio: number): PixelSize {
  if (size === undefined) return defaultSize;
  if (typeof size !== "string") throw invalidParameter("size", "expected a string");
  const preset = model.presets.find((name) => name === size.toUpperCase());
  return preset === undefined ? checkPixels(size, model) : nearest(presetSizes[preset], wishedRatio);
}

function checkPixels(size: string, model: ArkModel): PixelSize {
  const parsed = parseSize(size);
  if (parsed === undefined) {
    throw invalidParameter(
      "size",
      `expected <width>x<height> or one of ${model.presets.join(", ")}, got ${size}`,
    );
  }
  const { width, height } = parsed;
  if (width * height < model.minPixels) {
    throw invalidParameter("size", `image size must be at least ${model.minPixels} pixels`);
  }
  if (width * height > model.maxPixels) {
    throw invalidParameter("size", `image size must be at most ${model.maxPixels} pixels`);
  }
  if (Math.max(width / height, height / width) > widestRatio) {
    throw invalidParameter("size", "the aspect ratio of the image must be between 1/16 and 16");
  }
  return parsed;
}

function parseSize(size: string): PixelSize | undefined {
  const parts = /^(\d{1,6})x(\d{1,6})$/i.exec(size);
  if (parts === null) return undefined;
  const [width, height] = [Number(parts[1]), Number(parts[2])];
  return width > 0 && height > 0 ? { width, height } : undefined;
}

function nearest(sizes: readonly string[], ratio: number): PixelSize {
  const parsed = sizes.flatMap((size) => parseSize(size) ?? []);
  const distance = ({ width, height }: PixelSize) => Math.abs(Math.log(width / height / ratio));
  return parsed.reduce(
    (best, size) => (distance(size) < distance(best) ? size : best),
    defaultSizeOf(parsed),
  );
}

function defaultSizeOf(sizes: readonly PixelSize[]): PixelSize {
  return sizes[0] ?? defaultSize;
}
