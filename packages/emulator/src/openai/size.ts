import { type PixelSize, parsePixelSize, sideRatioOf } from "../pixel-size.js";
import { ratioInPrompt, ratioOfOrientation } from "../prompt-hints.js";
import { invalidValue } from "./errors.js";
import type { OpenaiModel } from "./models.js";

const fixedSizes = ["1024x1024", "1536x1024", "1024x1536"] as const;
/** The bounds of free sizes. The least number of pixels is not published: the emulator takes 256 x 256. */
const bounds = { step: 16, side: 3840, leastPixels: 65_536, mostPixels: 8_294_400, sideRatio: 3 } as const;

/** Checks `size`. `undefined` if the model is to choose it. */
export function readSize(size: string | undefined, { sizes }: OpenaiModel): PixelSize | undefined {
  if (size === undefined || size === "auto") return undefined;
  const parsed = parsePixelSize(size, "x");
  if (sizes === "fixed" || parsed === undefined) {
    if (parsed !== undefined && fixedSizes.some((fixed) => fixed === size)) return parsed;
    const others = sizes === "free" ? ", or <width>x<height>" : "";
    const supported = `${fixedSizes.map((fixed) => `'${fixed}'`).join(", ")}, and 'auto'${others}`;
    throw invalidValue("size", `Invalid value: '${size}'. Supported values are: ${supported}.`);
  }
  const problem = problemOf(parsed);
  if (problem !== undefined) throw invalidValue("size", `Invalid size '${size}'. ${problem}`);
  return parsed;
}

function problemOf(size: PixelSize): string | undefined {
  const { width, height } = size;
  if (width % bounds.step !== 0 || height % bounds.step !== 0) {
    return `Width and height must both be divisible by ${bounds.step}.`;
  }
  if (Math.max(width, height) > bounds.side) return `The longest edge must not exceed ${bounds.side} pixels.`;
  if (sideRatioOf(size) > bounds.sideRatio) return "The aspect ratio must be between 1:3 and 3:1.";
  const pixels = width * height;
  if (pixels < bounds.leastPixels) return `The image must have at least ${bounds.leastPixels} pixels.`;
  if (pixels > bounds.mostPixels) return `The image must not have more than ${bounds.mostPixels} pixels.`;
  return undefined;
}

/** What the model chooses for `auto`: the fixed size nearest to the ratio of the prompt, else of the last image. */
export function chooseSize(prompt: string, lastReference: PixelSize | undefined): PixelSize {
  const ofReference = lastReference && lastReference.width / lastReference.height;
  const ratio = ratioInPrompt(prompt) ?? ofReference ?? ratioOfOrientation(prompt);
  if (ratio > 1.2) return { width: 1536, height: 1024 };
  return ratio < 1 / 1.2 ? { width: 1024, height: 1536 } : { width: 1024, height: 1024 };
}
