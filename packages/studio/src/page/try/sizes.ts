import type { ModelSizes } from "../../wire.js";

/** What a person chooses: an aspect such as `16:9`, and a resolution such as `2K`. `""` leaves it to the model. */
interface SizeChoice {
  readonly aspect: string;
  readonly resolution: string;
}

/** The choices of a model. */
export interface SizeChoices {
  readonly aspects: readonly string[];
  /** For an aspect; they differ if the model has a list of sizes. */
  resolutionsOf(aspect: string): readonly string[];
  /** The value of `size`. `undefined`: the field is not sent. */
  toSize(choice: SizeChoice): string | undefined;
}

const ASPECTS = ["1:1", "4:3", "3:4", "3:2", "2:3", "16:9", "9:16", "21:9", "9:21"];
/** The sides of a square with as many pixels. */
const RESOLUTIONS: Readonly<Record<string, number>> = {
  "1K": 1024,
  "1.5K": 1536,
  "2K": 2048,
  "3K": 3072,
  "4K": 4096,
};
const DEFAULT_SIDE = 2048;

/** Finds what can be chosen. `null` means that the gateway does not know the sizes of the model. */
export function findSizeChoices(sizes: ModelSizes | null): SizeChoices | undefined {
  if (sizes === null) return ofRange(UNKNOWN);
  if (sizes.list.length > 0) return ofList(sizes);
  const { presets, min_pixels, max_pixels, min_side, max_side, max_aspect_ratio } = sizes;
  const hasRange = [min_pixels, max_pixels, min_side, max_side, max_aspect_ratio].some(
    (bound) => bound !== null,
  );
  if (hasRange) return ofRange(sizes);
  return presets.length > 0 ? ofPresets(presets) : undefined;
}

const UNKNOWN: ModelSizes = {
  presets: [],
  list: [],
  min_pixels: null,
  max_pixels: null,
  min_side: null,
  max_side: null,
  max_aspect_ratio: null,
};

function ofPresets(presets: readonly string[]): SizeChoices {
  return {
    aspects: [],
    resolutionsOf: () => presets,
    toSize: ({ resolution }) => (resolution === "" ? undefined : resolution),
  };
}

/** A model with a list of sizes: the aspects of the list, and for each aspect its sizes. */
function ofList({ list, presets }: ModelSizes): SizeChoices {
  const aspects = [...new Set(list.map(aspectOf))];
  const sizesOf = (aspect: string): readonly string[] => list.filter((size) => aspectOf(size) === aspect);
  return {
    aspects,
    resolutionsOf: (aspect) => (aspect === "" ? presets : sizesOf(aspect)),
    toSize: ({ aspect, resolution }) => {
      if (aspect === "") return resolution === "" ? undefined : resolution;
      const sizes = sizesOf(aspect);
      return sizes.includes(resolution) ? resolution : sizes[0];
    },
  };
}

/** A model that takes any size within bounds: common aspects and resolutions that lie inside of them. */
function ofRange(sizes: ModelSizes): SizeChoices {
  const maxRatio = sizes.max_aspect_ratio ?? 16;
  const aspects = ASPECTS.filter((aspect) => ratioOf(aspect) <= maxRatio && 1 / ratioOf(aspect) <= maxRatio);
  const names = Object.keys(RESOLUTIONS).filter((name) => isInside(RESOLUTIONS[name] ?? 0, sizes));
  const resolutions = [...new Set([...sizes.presets.filter((name) => name in RESOLUTIONS), ...names])];
  const ordered = resolutions.toSorted((a, b) => (RESOLUTIONS[a] ?? 0) - (RESOLUTIONS[b] ?? 0));
  return {
    aspects,
    resolutionsOf: () => ordered,
    toSize: ({ aspect, resolution }) => {
      if (aspect === "" && resolution === "") return undefined;
      if (aspect === "" && sizes.presets.includes(resolution)) return resolution;
      const side = RESOLUTIONS[resolution] ?? Math.sqrt(clampPixels(DEFAULT_SIDE ** 2, sizes));
      return toPixels(aspect === "" ? 1 : ratioOf(aspect), side, sizes);
    },
  };
}

function isInside(side: number, { min_pixels, max_pixels, min_side, max_side }: ModelSizes): boolean {
  const pixels = side ** 2;
  return (
    pixels >= (min_pixels ?? 0) &&
    pixels <= (max_pixels ?? Infinity) &&
    side >= (min_side ?? 0) &&
    side <= (max_side ?? Infinity)
  );
}

function clampPixels(pixels: number, { min_pixels, max_pixels }: ModelSizes): number {
  return Math.min(Math.max(pixels, min_pixels ?? 0), max_pixels ?? Infinity);
}

/** The size of an aspect with about the pixels of a square of this side, within the bounds of the model. */
function toPixels(ratio: number, side: number, sizes: ModelSizes): string {
  const step = sizes.multiple_of ?? 8;
  const pixels = clampPixels(side ** 2, sizes);
  const isAtMin = pixels === sizes.min_pixels;
  const round = isAtMin ? Math.ceil : Math.floor;
  const clamp = (value: number): number => {
    const stepped = round(value / step) * step;
    const min = Math.ceil((sizes.min_side ?? step) / step) * step;
    const max = Math.floor((sizes.max_side ?? Infinity) / step) * step;
    return Math.min(Math.max(stepped, min), Number.isNaN(max) ? Infinity : max);
  };
  return `${clamp(Math.sqrt(pixels * ratio))}x${clamp(Math.sqrt(pixels / ratio))}`;
}

function ratioOf(aspect: string): number {
  const [width = 1, height = 1] = aspect.split(":").map(Number);
  return width / height;
}

/** `1664x928` is `16:9` in the words of people, although it is not exactly that. */
function aspectOf(size: string): string {
  const [width = 1, height = 1] = size.split("x").map(Number);
  const ratio = width / height;
  const near = ASPECTS.find((aspect) => Math.abs(ratioOf(aspect) / ratio - 1) < 0.02);
  if (near !== undefined) return near;
  const divisor = greatestDivisor(width, height);
  return `${width / divisor}:${height / divisor}`;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** The width and the height of a size in pixels. `undefined` for any other. */
export function readPixels(size: string | undefined): readonly [number, number] | undefined {
  const match = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? "");
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}
