import { type PixelSize, parsePixelSize, sideRatioOf } from "../pixel-size.js";
import { ratioInPrompt, ratioOfOrientation } from "../prompt-hints.js";
import { invalidParameter } from "./errors.js";
import type { SizeRule } from "./models.js";

/** The sides of a size that the model chooses are multiples of this number. */
const step = 16;

const sidesOfTiers = { "1K": 1024, "2K": 2048, "4K": 4096 } as const;

/** Checks `parameters.size`. `undefined` if the model is to choose the size. */
export function readSize(size: unknown, rule: SizeRule, references = 0): PixelSize | undefined {
  if (size === undefined || size === null || rule.kind === "none") return undefined;
  if (rule.kind === "tiers" && typeof size === "string" && size in sidesOfTiers) {
    const tier = rule.tiers.find((name) => name === size && (name !== "4K" || references === 0));
    if (tier === undefined)
      throw invalidParameter(`The size ${size} is not supported by the model for this input`);
    return { width: sidesOfTiers[tier], height: sidesOfTiers[tier] };
  }
  const parsed = parsePixelSize(size, "*");
  if (parsed === undefined) throw invalidParameter("The size should be in the format of <width>*<height>");
  checkSize(parsed, rule);
  return parsed;
}

function checkSize(size: PixelSize, rule: Exclude<SizeRule, { kind: "none" }>): void {
  const { width, height } = size;
  switch (rule.kind) {
    case "list":
      if (rule.sizes.includes(`${width}*${height}`)) return;
      throw invalidParameter(`The size does not match the allowed size ${rule.sizes.join(",")}`);
    case "tiers":
    case "pixels": {
      const [least, most] = [Math.sqrt(rule.minPixels), Math.sqrt(rule.maxPixels)];
      if (width * height < rule.minPixels || width * height > rule.maxPixels) {
        const bounds = `between ${least}*${least} and ${most}*${most}`;
        throw invalidParameter(`The total pixels of the size should be ${bounds}`);
      }
      if (sideRatioOf(size) <= rule.maxSideRatio) return;
      const bounds = `between 1:${rule.maxSideRatio} and ${rule.maxSideRatio}:1`;
      throw invalidParameter(`The aspect ratio of the size should be ${bounds}`);
    }
    case "sides":
      if (Math.min(width, height) >= rule.min && Math.max(width, height) <= rule.max) return;
      throw invalidParameter(
        `The width and height of the size should be between ${rule.min} and ${rule.max}`,
      );
  }
}

/** The size that the model chooses if the request has none. */
export function chooseSize(rule: SizeRule, prompt: string, lastReference: PixelSize | undefined): PixelSize {
  const ratio = lastReference && lastReference.width / lastReference.height;
  switch (rule.kind) {
    case "list":
      return parsePixelSize(rule.sizes[0], "*") ?? { width: 1664, height: 928 };
    case "tiers":
      return sidesOf(
        2048 * 2048,
        bound(ratio ?? 1, rule.maxSideRatio),
        (side) => Math.floor(side / step) * step,
      );
    case "pixels": {
      const ratioOfPrompt = ratioInPrompt(prompt) ?? ratioOfOrientation(prompt);
      const otherwise = rule.ratioWithoutReference === "of-the-prompt" ? ratioOfPrompt : 1;
      const bounded = bound(ratio ?? otherwise, Math.min(16, rule.maxSideRatio));
      // Rounded down, because the default may already be the maximum.
      return sidesOf(rule.defaultPixels, bounded, (side) => Math.floor(side / step) * step);
    }
    case "sides":
    case "none":
      return sidesOf(rule.defaultPixels, bound(ratio ?? 1, 16), (side) =>
        Math.min(rule.max, Math.max(rule.min, Math.round(side / step) * step)),
      );
  }
}

function bound(ratio: number, max: number): number {
  return Math.min(max, Math.max(1 / max, ratio));
}

function sidesOf(pixels: number, ratio: number, round: (side: number) => number): PixelSize {
  return { width: round(Math.sqrt(pixels * ratio)), height: round(Math.sqrt(pixels / ratio)) };
}
