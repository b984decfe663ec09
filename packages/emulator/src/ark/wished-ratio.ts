import type { ReferencePicture } from "../pictures/recipe.js";

const words: readonly (readonly [RegExp, number])[] = [
  [/\b(?:portrait|vertical)\b|竖|纵向/i, 3 / 4],
  [/\b(?:landscape|horizontal)\b|横/i, 4 / 3],
  [/\b(?:panorama|panoramic|ultra-?wide)\b|全景/i, 21 / 9],
];

/** The aspect ratio that a preset leaves to the model: what the prompt says, else the last reference's, else square. */
export function wishedRatio(prompt: string, references: readonly ReferencePicture[]): number {
  const written = /(?<!\d)(\d{1,2})\s*[:：]\s*(\d{1,2})(?!\d)/.exec(prompt);
  if (written !== null) {
    const ratio = Number(written[1]) / Number(written[2]);
    if (ratio > 0 && Number.isFinite(ratio)) return ratio;
  }
  const last = references.at(-1);
  if (last !== undefined) return last.width / last.height;
  return words.find(([pattern]) => pattern.test(prompt))?.[1] ?? 1;
}
