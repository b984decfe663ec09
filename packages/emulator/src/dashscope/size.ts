import type { ReferencePicture } from "../pictures/recipe.js";
import type { SizeRule } from "./models.js";
import { invalidParameter } from "./refusals.js";

interface PixelSize {
  readonly width: number;
  readonly height: number;
}

const step = 16;

/** The size to draw: what was asked if the model allows it, else its default in the last reference's ratio. */
export function chooseSize(
  size: unknown,
  rule: SizeRule,
  references: readonly ReferencePicture[],
): PixelSize {
  if (size !== undefined && size !== null && rule.kind !== "none") return checkSize(size, rule);
  if (rule.kind === "list") return parseSize(rule.sizes[0]) ?? { width: 1664, height: 928 };
  const last = references.at(-1);
  return last === undefined ? square(rule.defaultArea) : fitRatio(last.width / last.height, rule);
}

function checkSize(size: unknown, rule: Exclude<SizeRule, { kind: "none" }>): PixelSize {
  const parsed = parseSize(size);
  if (parsed === undefined) throw invalidParameter("The size should be in the format of <width>*<height>");
  const { width, height } = parsed;
  switch (rule.kind) {
    case "list":
      if (rule.sizes.includes(`${width}*${height}`)) return parsed;
      throw invalidParameter(`The size does not match the allowed size ${rule.sizes.join(",")}`);
    case "area":
      if (width * height >= rule.minPixels && width * height <= rule.maxPixels) return parsed;
      throw invalidParameter("The total pixels of the size should be between 512*512 and 2048*2048");
    case "sides":
      if (Math.min(width, height) >= rule.min && Math.max(width, height) <= rule.max) return parsed;
      throw invalidParameter(
        `The width and height of the size should be between ${rule.min} and ${rule.max}`,
      );
  }
}

function parseSize(size: unknown): PixelSize | undefined {
  const parts = typeof size === "string" ? /^(\d{1,5})\*(\d{1,5})$/.exec(size) : null;
  if (parts === null) return undefined;
  const [width, height] = [Number(parts[1]), Number(parts[2])];
  return width > 0 && height > 0 ? { width, height } : undefined;
}

function square(area: number): PixelSize {
  const side = Math.round(Math.sqrt(area));
  return { width: side, height: side };
}

/** About the default area, in whole steps and within the limits, so an extreme ratio is softened. */
function fitRatio(ratio: number, rule: Exclude<SizeRule, { kind: "list" }>): PixelSize {
  const [min, max] = rule.kind === "area" ? [step, rule.maxPixels] : [rule.min, rule.max];
  const fit = (side: number) => Math.min(max, Math.max(min, Math.floor(side / step) * step));
  const bounded = Math.min(16, Math.max(1 / 16, ratio));
  return {
    width: fit(Math.sqrt(rule.defaultArea * bounded)),
    height: fit(Math.sqrt(rule.defaultArea / bounded)),
  };
}
