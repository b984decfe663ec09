import { isAllowedSize, parsePixels, type SizeLimits, takesPresetsOnly } from "./size.js";

/** A size in any of the spellings that clients use. */
export interface WantedSize {
  /** Pixels (`1024x1024` or `1024*1024`), an aspect ratio (`16:9`) or a preset (`2K`), in any letter case. */
  readonly size: string;
  /** How many pixels an image of an aspect ratio has: pixels or a preset. Default `2K`, as at both providers. */
  readonly resolution?: string | undefined;
}

/**
 * Finds the size that is nearest to the wanted one, among the sizes that a model accepts: first in aspect ratio, then in pixels.
 * A size that the model accepts is its own nearest size. `nK` means (n × 1024)² pixels. If the model has presets, a preset
 * becomes the preset with the nearest number of pixels, otherwise a square.
 *
 * @returns `<width>x<height>`, or a preset of the model; `undefined` if the wanted size cannot be read, or if no size
 *   fits the limits
 * @example
 * ```ts
 * import { findNearestSize } from "@calotype/core/families";
 *
 * findNearestSize({ size: "1024*1024" }, { totalPixels: { min: 3_686_400, max: 16_777_216 } }); // "1920x1920"
 * findNearestSize({ size: "16:9", resolution: "1K" }, { list: [[1664, 928], [1328, 1328]] }); // "1664x928"
 * findNearestSize({ size: "3K" }, { presets: ["1K", "2K"] }); // "2K"
 * ```
 */
export function findNearestSize({ size, resolution }: WantedSize, limits: SizeLimits): string | undefined {
  const shape = readShape(size);
  if (shape === undefined) return undefined;
  const { presets = [] } = limits;
  if (shape.kind === "preset" && presets.some((preset) => isSameName(preset, size))) return size;
  const pixels = shape.pixels ?? (resolution === undefined ? DEFAULT_PIXELS : readShape(resolution)?.pixels);
  if (pixels === undefined) return undefined;
  if (takesPresetsOnly(limits) || (shape.kind === "preset" && presets.length > 0)) {
    return findNearestPreset(pixels, presets);
  }
  if (shape.kind === "pixels" && isAllowedSize(shape.ratio, limits)) return spell(shape.ratio);
  const found =
    limits.list === undefined
      ? fitSize(shape.ratio, pixels, limits)
      : findNearestInList(shape.ratio, pixels, limits);
  return found && spell(found);
}

/**
 * Finds the aspect ratio that is nearest to the wanted size, for providers that take ratios in place of pixels.
 *
 * @param ratios such as `["1:1", "16:9"]`
 * @returns one of `ratios`; `undefined` if the size cannot be read
 * @example
 * ```ts
 * import { findNearestRatio } from "@calotype/core/families";
 *
 * findNearestRatio("1920x1088", ["1:1", "16:9", "9:16"]); // "16:9"
 * ```
 */
export function findNearestRatio(size: string, ratios: readonly string[]): string | undefined {
  const wanted = readShape(size)?.ratio;
  if (wanted === undefined) return undefined;
  const candidates = ratios.flatMap((name) => {
    const ratio = readRatio(name);
    return ratio === undefined ? [] : [{ name, distance: measure(ratio, wanted, 0).slice(0, 1) }];
  });
  return findNearest(candidates)?.name;
}

/** A width and a height. */
type Sides = readonly [width: number, height: number];

/** What a client wants, as numbers. */
interface Shape {
  readonly kind: "pixels" | "ratio" | "preset";
  /** Width and height. Only their ratio counts, unless they are pixels. */
  readonly ratio: Sides;
  /** Width times height. Absent for a ratio. */
  readonly pixels?: number;
}

/** The default of Ark and of Qwen-Image 2.0 (their references, November 2026). */
const DEFAULT_PIXELS = 2048 * 2048;

function readShape(size: string): Shape | undefined {
  const sides = parsePixels(size.toLowerCase().replace("*", "x"), "x");
  if (sides !== undefined) return { kind: "pixels", ratio: sides, pixels: sides[0] * sides[1] };
  const ratio = readRatio(size);
  if (ratio !== undefined) return { kind: "ratio", ratio };
  const pixels = countPresetPixels(size);
  return pixels === undefined ? undefined : { kind: "preset", ratio: [1, 1], pixels };
}

/** A ratio such as `16:9` or `1.91:1`, as whole numbers. */
function readRatio(size: string): Sides | undefined {
  const match = /^(\d{1,4}(?:\.\d{1,2})?):(\d{1,4}(?:\.\d{1,2})?)$/.exec(size);
  const [width = 0, height = 0] = (match ?? []).slice(1).map((side) => Math.round(Number(side) * 100));
  return width > 0 && height > 0 ? [width, height] : undefined;
}

/** The pixels of `nK`. `undefined` for any other name. */
function countPresetPixels(preset: string): number | undefined {
  const [, thousands] = /^(\d{1,2}(?:\.\d)?)k$/i.exec(preset) ?? [];
  const side = Math.round(Number(thousands ?? 0) * 1024);
  return side > 0 ? side ** 2 : undefined;
}

/** Presets whose names say no number of pixels, such as `auto`, are not chosen. */
function findNearestPreset(pixels: number, presets: readonly string[]): string | undefined {
  const named = presets.flatMap((preset) => {
    const count = countPresetPixels(preset);
    return count === undefined ? [] : [{ preset, distance: [Math.abs(count - pixels), count] }];
  });
  return findNearest(named)?.preset;
}

function findNearestInList(ratio: Sides, pixels: number, limits: SizeLimits): Sides | undefined {
  const sizes = (limits.list ?? []).filter((sides) => isAllowedSize(sides, limits));
  return findNearest(sizes.map((sides) => ({ sides, distance: measure(sides, ratio, pixels) })))?.sides;
}

/** The distance of a size in aspect ratio, in pixels, and, to choose the smaller one of two, its pixels. */
function measure([width, height]: Sides, ratio: Sides, pixels: number): readonly number[] {
  const count = width * height;
  return [
    Math.abs(Math.log(width / height) - Math.log(ratio[0] / ratio[1])),
    Math.abs(count - pixels),
    count,
  ];
}

/** Differences of logarithms below this are rounding errors. */
const SAME = 1e-9;

/** The candidate with the smallest first distance; among equals the second one decides, and so on. */
function findNearest<Candidate extends { readonly distance: readonly number[] }>(
  candidates: readonly Candidate[],
): Candidate | undefined {
  const compare = (a: Candidate, b: Candidate): number => {
    const differences = a.distance.map((distance, index) => distance - (b.distance[index] ?? 0));
    return differences.find((difference) => Math.abs(difference) > SAME) ?? 0;
  };
  return candidates.toSorted(compare)[0];
}

/** The longest side that has a spelling, see `parsePixels`. */
const LONGEST_SIDE = 999_999;

const ANY_SIDE: NonNullable<SizeLimits["side"]> = { min: 1, max: LONGEST_SIDE };

/** The limits for a size whose longer side comes first. */
interface Bounds {
  readonly pixels: { readonly min: number; readonly max: number };
  readonly side: { readonly min: number; readonly max: number };
  readonly maxRatio: number;
}

/** Fits a size into limits without a list: with exactly this ratio if possible, otherwise with the closest one. */
function fitSize(ratio: Sides, pixels: number, limits: SizeLimits): Sides | undefined {
  const { multipleOf: step = 1, totalPixels, side = ANY_SIDE, ...others } = limits;
  if (step === 1) return fitAnySize(ratio, pixels, limits);
  // Sides in units of the step can be any whole number.
  const inUnits = { ...others, totalPixels: toUnits(totalPixels, step ** 2), side: toUnits(side, step) };
  const found = fitAnySize(ratio, pixels / step ** 2, inUnits);
  return found && [found[0] * step, found[1] * step];
}

function toUnits(range: SizeLimits["side"], unit: number): SizeLimits["side"] {
  return range && { min: Math.ceil(range.min / unit), max: Math.floor(range.max / unit) };
}

/** As {@link fitSize}, for sides of any number of pixels. */
function fitAnySize([width, height]: Sides, pixels: number, limits: SizeLimits): Sides | undefined {
  const bounds: Bounds = {
    pixels: limits.totalPixels ?? { min: 1, max: Infinity },
    side: {
      min: Math.max(1, limits.side?.min ?? 1),
      max: Math.min(LONGEST_SIDE, limits.side?.max ?? LONGEST_SIDE),
    },
    maxRatio: limits.maxAspectRatio ?? Infinity,
  };
  const isPortrait = height > width;
  const [long, short] = clampRatio(isPortrait ? [height, width] : [width, height], bounds);
  const found = fitExactly([long, short], pixels, bounds) ?? fitClosely(long / short, pixels, bounds);
  if (found === undefined) return undefined;
  const sides: Sides = isPortrait ? [found[1], found[0]] : found;
  return isAllowedSize(sides, limits) ? sides : undefined;
}

/** The ratio, or the largest one that the bounds allow. */
function clampRatio([long, short]: Sides, { pixels, side, maxRatio }: Bounds): Sides {
  const most = Math.min(
    maxRatio,
    side.max / side.min,
    side.max ** 2 / pixels.min,
    pixels.max / side.min ** 2,
  );
  return long / short <= most ? [long, short] : [most, 1];
}

/** The multiple of a whole-number ratio whose pixels are nearest. `undefined` if no multiple fits the bounds. */
function fitExactly([long, short]: Sides, pixels: number, bounds: Bounds): Sides | undefined {
  if (!Number.isInteger(long)) return undefined;
  const divisor = findDivisor(long, short);
  const [width, height] = [long / divisor, short / divisor];
  const area = width * height;
  const least = Math.ceil(Math.max(Math.sqrt(bounds.pixels.min / area), bounds.side.min / height));
  const most = Math.floor(Math.min(Math.sqrt(bounds.pixels.max / area), bounds.side.max / width));
  if (least > most) return undefined;
  const exact = Math.sqrt(pixels / area);
  const factors = [Math.floor(exact), Math.ceil(exact)].map((factor) => clamp(factor, least, most));
  const sizes = factors.map((factor): Sides => [factor * width, factor * height]);
  return findNearest(sizes.map((sides) => ({ sides, distance: measure(sides, [long, short], pixels) })))
    ?.sides;
}

function findDivisor(a: number, b: number): number {
  return b === 0 ? a : findDivisor(b, a % b);
}

/** How many shorter sides are tried on each side of the one that would fit best if sides could be fractions. */
const TRIED_SIDES = 16;

/** The rounded size with the closest ratio, near the wanted number of pixels. */
function fitClosely(ratio: number, wanted: number, { pixels, side, maxRatio }: Bounds): Sides | undefined {
  const least = Math.max(pixels.min, side.min ** 2 * ratio);
  const most = Math.min(pixels.max, side.max ** 2 / ratio);
  const best = Math.round(Math.sqrt(clamp(wanted, least, most) / ratio));
  const candidates: { sides: Sides; distance: readonly number[] }[] = [];
  for (let short = best - TRIED_SIDES; short <= best + TRIED_SIDES; short++) {
    if (short < side.min || short > side.max) continue;
    const from = Math.max(short, Math.ceil(pixels.min / short));
    const to = Math.floor(Math.min(side.max, pixels.max / short, short * maxRatio));
    if (from > to) continue;
    const sides: Sides = [clamp(Math.round(short * ratio), from, to), short];
    candidates.push({ sides, distance: measure(sides, [ratio, 1], wanted) });
  }
  return findNearest(candidates)?.sides;
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

function spell([width, height]: Sides): string {
  return `${width}x${height}`;
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
