import { isJsonObject, type JsonObject } from "../json.js";
import { integerIn, oneOf } from "./fields.js";
import { invalidParameter } from "./refusals.js";

/** References and outputs of one request together. */
const maxImagesInAll = 15;

export interface ImageCount {
  /** Whether a batch was asked for (`auto`), even one that comes to a single image. */
  readonly isBatch: boolean;
  readonly count: number;
}

/** How many images come of it: `auto` means up to `max_images`, and a number in the prompt says how many of them. */
export function countImages(body: JsonObject, prompt: string, referenceCount: number): ImageCount {
  const mode = oneOf(body, "sequential_image_generation", ["auto", "disabled"]) ?? "disabled";
  if (mode === "disabled") return { isBatch: false, count: 1 };
  const room = maxImagesInAll - referenceCount;
  const asked = readMaxImages(body.sequential_image_generation_options);
  if (asked !== undefined && asked > room) {
    throw invalidParameter(
      "sequential_image_generation_options.max_images",
      `the number of reference images and output images must not exceed ${maxImagesInAll} in total`,
    );
  }
  const most = asked ?? room;
  return { isBatch: true, count: Math.min(most, numberInPrompt(prompt) ?? most) };
}

function readMaxImages(options: unknown): number | undefined {
  if (options === undefined || options === null) return undefined;
  const name = "sequential_image_generation_options";
  if (!isJsonObject(options)) throw invalidParameter(name, "expected an object");
  return integerIn(options.max_images, `${name}.max_images`, { min: 1, max: maxImagesInAll });
}

const numerals: Readonly<Record<string, number>> = {
  一: 1,
  两: 2,
  二: 2,
  三: 3,
  四: 4,
  五: 5,
  六: 6,
  七: 7,
  八: 8,
  九: 9,
  十: 10,
  十一: 11,
  十二: 12,
  十三: 13,
  十四: 14,
  十五: 15,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  eleven: 11,
  twelve: 12,
};

const numeral = `(\\d{1,2}|${Object.keys(numerals)
  .toSorted((a, b) => b.length - a.length)
  .join("|")})`;
const inChinese = new RegExp(`${numeral}\\s*(?:张(?!桌|椅|床|脸|嘴|纸)|幅|组图|个画面)`);
const inEnglish = new RegExp(
  `(?<![\\w.:：])${numeral}\\s+(?:[a-z-]+\\s+){0,2}(?:images?|pictures?|photos?|illustrations?|drawings?|posters?|variations?|frames?|panels?)\\b`,
  "i",
);

/** `三张`, `4 images`, `five different pictures`; `undefined` when the prompt names no number. */
export function numberInPrompt(prompt: string): number | undefined {
  const found = (inChinese.exec(prompt) ?? inEnglish.exec(prompt))?.[1]?.toLowerCase();
  if (found === undefined) return undefined;
  const count = numerals[found] ?? Number(found);
  return count >= 1 ? count : undefined;
}
