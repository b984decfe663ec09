import { invalidRequest } from "../errors.js";

/** The sizes that a model accepts. An absent rule is not checked. With `presets` alone, no other size is accepted. */
export interface SizeLimits {
  /** Names such as `2K`, in any letter case. */
  readonly presets?: readonly string[] | undefined;
  /** Only these sizes, each `[width, height]`. */
  readonly list?: readonly (readonly [number, number])[] | undefined;
  /** Width times height. */
  readonly totalPixels?: { readonly min: number; readonly max: number } | undefined;
  /** The limits of each side in pixels. */
  readonly side?: { readonly min: number; readonly max: number } | undefined;
  /** The longer side divided by the shorter one is at most this. */
  readonly maxAspectRatio?: number | undefined;
  /** Both sides are multiples of this, in pixels, such as 16. */
  readonly multipleOf?: number | undefined;
}

/** How a family writes sizes. */
export interface SizeStyle {
  readonly separator: "x" | "*";
  /** The name of the field, for messages. */
  readonly param: string;
}

/**
 * Checks a size against a model's limits.
 *
 * @throws GatewayError `invalid_request_error` that lists what is allowed
 */
export function checkSize(size: string, limits: SizeLimits, style: SizeStyle): void {
  const pixels = parsePixels(size, style.separator);
  if (pixels !== undefined && !takesPresetsOnly(limits) && isAllowedSize(pixels, limits)) return;
  if (limits.presets?.some((preset) => preset.toLowerCase() === size.toLowerCase())) return;
  throw invalidRequest(
    `${style.param} ${JSON.stringify(size.slice(0, 32))} is not supported by this model: send ${describe(limits, style.separator)}.`,
    style.param,
  );
}

const PATTERNS = {
  x: /^([1-9]\d{0,5})x([1-9]\d{0,5})$/,
  "*": /^([1-9]\d{0,5})\*([1-9]\d{0,5})$/,
} as const;

/** Reads the width and height of a pixel size. `undefined` for a preset and for anything else. */
export function parsePixels(
  size: string,
  separator: SizeStyle["separator"],
): readonly [number, number] | undefined {
  const match = PATTERNS[separator].exec(size);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

/** The number of pixels of a size in either style. `undefined` for a preset and for anything else. */
export function countPixels(size: string): number | undefined {
  const sides = parsePixels(size, "x") ?? parsePixels(size, "*");
  return sides && sides[0] * sides[1];
}

/** True for a size in pixels that the limits allow. */
export function isAllowedSize([width, height]: readonly [number, number], limits: SizeLimits): boolean {
  const { list, totalPixels, side, maxAspectRatio, multipleOf = 1 } = limits;
  return (
    (list === undefined || list.some((allowed) => allowed[0] === width && allowed[1] === height)) &&
    within(width * height, totalPixels) &&
    within(width, side) &&
    within(height, side) &&
    width % multipleOf === 0 &&
    height % multipleOf === 0 &&
    (maxAspectRatio === undefined || Math.max(width / height, height / width) <= maxAspectRatio)
  );
}

/** True for limits that have presets and no rule for pixel sizes. */
export function takesPresetsOnly({
  presets = [],
  list,
  totalPixels,
  side,
  maxAspectRatio,
  multipleOf,
}: SizeLimits): boolean {
  const hasRule = (list ?? totalPixels ?? side ?? maxAspectRatio ?? multipleOf) !== undefined;
  return presets.length > 0 && !hasRule;
}

function describe(limits: SizeLimits, separator: string): string {
  const { presets = [], list, totalPixels, side, maxAspectRatio, multipleOf } = limits;
  const sizes = list?.map(([width, height]) => `${width}${separator}${height}`) ?? [];
  const rules = [
    totalPixels && `${totalPixels.min} to ${totalPixels.max} pixels in all`,
    side && `sides of ${side.min} to ${side.max} pixels`,
    maxAspectRatio && `an aspect ratio between 1:${maxAspectRatio} and ${maxAspectRatio}:1`,
    multipleOf && `sides that are multiples of ${multipleOf}`,
  ].filter((rule) => typeof rule === "string");
  const named = [...presets, ...sizes];
  if (rules.length === 0 && named.length > 0) return named.join(", or ");
  const withRules = rules.length > 0 ? ` with ${rules.join(" and ")}` : "";
  return [...named, `<width>${separator}<height>${withRules}`].join(", or ");
}

function within(value: number, range: SizeLimits["side"]): boolean {
  return range === undefined || (value >= range.min && value <= range.max);
}

/** The most pixels of an image that keeps to these limits. `undefined` if they do not tell it. */
export function countMostPixels(limits: SizeLimits | "none" | undefined): number | undefined {
  if (limits === undefined || limits === "none") return undefined;
  const bounds = [
    limits.list && Math.max(...limits.list.map(([width, height]) => width * height)),
    limits.totalPixels?.max,
    limits.side && limits.side.max ** 2,
  ].filter((bound) => bound !== undefined);
  return bounds.length === 0 ? undefined : Math.min(...bounds);
}
