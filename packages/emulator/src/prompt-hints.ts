/**
 * What a prompt says about the images. The real models understand prompts; the emulator reads a few common phrases,
 * so that a test can choose the outcome.
 */

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
const imagesInChinese = new RegExp(`${numeral}\\s*(?:张(?!桌|椅|床|脸|嘴|纸)|幅|组图|个画面)`);
const imagesInEnglish = inEnglish(
  "images?|pictures?|photos?|illustrations?|drawings?|posters?|variations?|frames?|panels?",
);
const layersInChinese = new RegExp(`${numeral}\\s*(?:个图层|图层|层)`);
const layersInEnglish = inEnglish("layers?");

/** Up to two words may be between the number and the noun: `five different pictures`. */
function inEnglish(nouns: string): RegExp {
  return new RegExp(`(?<![\\w.:：])${numeral}\\s+(?:[a-z-]+\\s+){0,2}(?:${nouns})\\b`, "i");
}

/** The number of images: `三张`, `4 images`, `five different pictures`. `undefined` if the prompt has none. */
export function imageCountInPrompt(prompt: string): number | undefined {
  return readNumber(imagesInChinese.exec(prompt) ?? imagesInEnglish.exec(prompt));
}

/** The number of layers: `五个图层`, `5 layers`. `undefined` if the prompt has none. */
export function layerCountInPrompt(prompt: string): number | undefined {
  return readNumber(layersInChinese.exec(prompt) ?? layersInEnglish.exec(prompt));
}

function readNumber(match: RegExpExecArray | null): number | undefined {
  const found = match?.[1]?.toLowerCase();
  if (found === undefined) return undefined;
  const count = numerals[found] ?? Number(found);
  return count >= 1 ? count : undefined;
}

/** The aspect ratio as numbers, such as `16:9`: width divided by height. `undefined` if the prompt has none. */
export function ratioInPrompt(prompt: string): number | undefined {
  const written = /(?<!\d)(\d{1,2})\s*[:：]\s*(\d{1,2})(?!\d)/.exec(prompt);
  const ratio = written === null ? 0 : Number(written[1]) / Number(written[2]);
  return ratio > 0 && Number.isFinite(ratio) ? ratio : undefined;
}

const orientations: readonly (readonly [RegExp, number])[] = [
  [/\b(?:portrait|vertical)\b|竖|纵向/i, 3 / 4],
  [/\b(?:landscape|horizontal)\b|横/i, 4 / 3],
  [/\b(?:panorama|panoramic|ultra-?wide)\b|全景/i, 21 / 9],
];

/** The aspect ratio as a word, such as `portrait`. 1 if the prompt has none. */
export function ratioOfOrientation(prompt: string): number {
  return orientations.find(([pattern]) => pattern.test(prompt))?.[1] ?? 1;
}
