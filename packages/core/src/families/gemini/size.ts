import { invalidRequest } from "../../errors.js";
import { findNearestRatio } from "../../images/nearest-size.js";
import { checkSize, countPixels, parsePixels, type SizeLimits } from "../../images/size.js";
import type { Capabilities } from "../capabilities.js";
import { chooseNearestSize, isDefaultSize, type SizeFields } from "../choose-size.js";
import type { NormalizeContext } from "../family.js";
import { ALL_RATIOS, DEFAULT_TIER, TIERS } from "./models.js";

/** The size of an image as Gemini takes it: an aspect ratio and a tier, each of which may be absent. */
export interface GeminiSize {
  /** `imageConfig` of the call. Absent: the model makes 1K, in the ratio of the last reference image or 1:1. */
  readonly imageConfig?: { readonly aspectRatio?: string; readonly imageSize?: string } | undefined;
  /** The tier of the image, also if it is not sent. */
  readonly tier: string;
  /** The most pixels of the image. `undefined`: not known. */
  readonly maxPixels: number | undefined;
  /** The size that replaces the client's. */
  readonly replacedSize?: string | undefined;
  /** The fields of the size that have no effect. */
  readonly ignored: readonly string[];
}

/** The rules for a model without a row. */
const UNKNOWN: SizeLimits = { presets: TIERS, side: { min: 1, max: 12_288 } };

/**
 * Maps the client's size to an aspect ratio and a tier. `size` is pixels (`1376x768`), a tier (`2K`) or a ratio (`16:9`).
 * Without `size`, `aspect_ratio` and `resolution` are read.
 *
 * @throws GatewayError `invalid_request_error` for a size that the model does not make, unless `sizes` is `nearest`
 */
export function chooseGeminiSize(
  fields: SizeFields,
  { capabilities, sizes }: Pick<NormalizeContext, "capabilities" | "sizes">,
): GeminiSize {
  const limits = capabilities?.size ?? UNKNOWN;
  const wanted = readWanted(fields);
  const { size, replacedSize } =
    sizes === "nearest" ? chooseNearest(wanted, limits) : { size: chooseExact(wanted, limits) };
  const { ratio, tier } = split(size, limits);
  const imageConfig = {
    ...(ratio !== undefined && { aspectRatio: ratio }),
    // Some models refuse the field.
    ...(tier !== DEFAULT_TIER && { imageSize: tier }),
  };
  return {
    ...(Object.keys(imageConfig).length > 0 && { imageConfig }),
    tier,
    maxPixels: countPixels(size.pixels ?? "") ?? countMostPixels(tier, capabilities),
    ...(replacedSize !== undefined && { replacedSize }),
    ignored: listIgnored(fields, wanted, limits),
  };
}

const RATIO_FIELDS = ["aspect_ratio", "resolution"] as const;
const FIELDS = ["size", ...RATIO_FIELDS] as const;

/** What the client wants: a size, or a ratio and a resolution. */
interface Wanted {
  /** Pixels or a tier. */
  readonly size?: string | undefined;
  readonly ratio?: unknown;
  readonly resolution?: unknown;
  /** The field with the ratio. */
  readonly ratioField: "size" | "aspect_ratio";
}

/** The fields without those that mean the default. A ratio may be in `size`. */
function readWanted(fields: SizeFields): Wanted {
  const [size, ratio, resolution] = FIELDS.map((name) =>
    isDefaultSize(fields[name]) ? undefined : fields[name],
  );
  if (typeof size !== "string") return { ratio, resolution, ratioField: "aspect_ratio" };
  return size.includes(":")
    ? { ratio: size, resolution, ratioField: "size" }
    : { size, ratioField: "aspect_ratio" };
}

/** The fields that have no effect: all of them if the model takes no size, or those that `size` replaces. */
function listIgnored(fields: SizeFields, wanted: Wanted, limits: SizeLimits | "none"): readonly string[] {
  const given = FIELDS.filter((name) => fields[name] !== undefined);
  if (limits === "none") return given;
  if (wanted.size !== undefined) return given.filter((name) => name !== "size");
  return wanted.ratioField === "size" ? given.filter((name) => name === "aspect_ratio") : [];
}

/** A size in the spellings of clients. */
interface NamedSize {
  readonly pixels?: string | undefined;
  readonly ratio?: string | undefined;
  readonly tier?: string | undefined;
}

interface Chosen {
  readonly size: NamedSize;
  readonly replacedSize?: string | undefined;
}

function chooseNearest({ size, ratio, resolution, ratioField }: Wanted, limits: SizeLimits | "none"): Chosen {
  // The resolution of a ratio is that of the provider, if the client names none.
  const ofRatio = resolution ?? (ratio === undefined ? undefined : DEFAULT_TIER);
  if (ratioField === "size" && findNearestRatio(String(ratio), ALL_RATIOS) === undefined) {
    throw invalidRequest('size must be a string such as "16:9" or "1024x1024".', "size");
  }
  const chosen = chooseNearestSize({ size, aspect_ratio: ratio, resolution: ofRatio }, limits);
  if (chosen.size !== undefined && limits !== "none") check(chosen.size, limits);
  return { size: toNamedSize(chosen.size), replacedSize: chosen.replacedSize };
}

function chooseExact(
  { size, ratio, resolution, ratioField }: Wanted,
  limits: SizeLimits | "none",
): NamedSize {
  if (limits === "none") {
    if ((size ?? ratio ?? resolution) === undefined) return {};
    throw invalidRequest("size is not supported by this model.", "size");
  }
  if (size !== undefined) {
    check(size, limits);
    return toNamedSize(size);
  }
  return {
    ratio: readExact(ratio, ratioField, listRatios(limits)),
    tier: readExact(resolution, "resolution", listTiers(limits)),
  };
}

function check(size: string, limits: SizeLimits): void {
  checkSize(size, { ...limits, presets: listTiers(limits) }, { separator: "x", param: "size" });
}

function readExact(value: unknown, param: string, allowed: readonly string[]): string | undefined {
  if (value === undefined) return undefined;
  const name = typeof value === "string" ? value.toLowerCase() : undefined;
  const found = allowed.find((each) => each.toLowerCase() === name);
  if (found !== undefined) return found;
  throw invalidRequest(`${param} must be one of ${allowed.join(", ")}.`, param);
}

/** The ratios of the sizes of a model. */
function listRatios(limits: SizeLimits | "none"): readonly string[] {
  if (limits === "none") return [];
  if (limits.list === undefined) return ALL_RATIOS;
  const ratios = new Set(limits.list.map((sides) => findNearestRatio(sides.join("x"), ALL_RATIOS)));
  return ALL_RATIOS.filter((ratio) => ratios.has(ratio));
}

/** A model without presets makes 1K only. */
function listTiers(limits: SizeLimits | "none"): readonly string[] {
  return limits === "none" ? [] : (limits.presets ?? [DEFAULT_TIER]);
}

function toNamedSize(size: string | undefined): NamedSize {
  if (size === undefined) return {};
  return parsePixels(size, "x") === undefined ? { tier: size } : { pixels: size };
}

function split(
  { pixels, ratio, tier }: NamedSize,
  limits: SizeLimits | "none",
): { ratio: string | undefined; tier: string } {
  if (pixels !== undefined) {
    const [first = DEFAULT_TIER, ...others] = listTiers(limits);
    const count = countPixels(pixels) ?? 0;
    const distance = (name: string): number => Math.abs(Math.log(count / countTierPixels(name)));
    const nearest = others.reduce((best, each) => (distance(each) < distance(best) ? each : best), first);
    return { ratio: findNearestRatio(pixels, ALL_RATIOS), tier: nearest };
  }
  return {
    ratio,
    tier: TIERS.find((name) => name.toLowerCase() === tier?.toLowerCase()) ?? tier ?? DEFAULT_TIER,
  };
}

/** About the pixels of an image of a tier, in any ratio. */
function countTierPixels(tier: string): number {
  const [, thousands] = /^(\d{1,2})k$/i.exec(tier) ?? [];
  return (thousands === undefined ? Number(tier) || 1024 : Number(thousands) * 1024) ** 2;
}

/** The pixels of the largest image of a tier. */
function countMostPixels(tier: string, capabilities: Capabilities | undefined): number | undefined {
  const limits = capabilities?.size;
  if (limits === undefined || limits === "none" || limits.list === undefined) return undefined;
  const ofTier = limits.list
    .filter((sides) => split({ pixels: sides.join("x") }, limits).tier === tier)
    .map(([width, height]) => width * height);
  return ofTier.length === 0 ? undefined : Math.max(...ofTier);
}
