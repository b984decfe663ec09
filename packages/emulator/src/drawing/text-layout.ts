/** Text that fits into its box: its lines from top to bottom, and its font size in pixels. */
export interface LaidOutText {
  readonly lines: readonly string[];
  readonly fontSize: number;
}

interface TextBox {
  readonly width: number;
  readonly height: number;
  readonly largestFont: number;
  readonly smallestFont: number;
}

export const lineHeight = 1.35;
const sizesToTry = 6;

/** Chooses the largest font size at which the text fits. At the smallest size, an ellipsis replaces the rest. */
export function fitText(text: string, box: TextBox): LaidOutText {
  const units = splitIntoUnits(text);
  for (let step = 0; step < sizesToTry; step += 1) {
    const share = step / (sizesToTry - 1);
    const fontSize = Math.max(1, Math.round(box.largestFont + (box.smallestFont - box.largestFont) * share));
    const maxLines = Math.max(1, Math.floor(box.height / (fontSize * lineHeight)));
    const lines = wrap(units, box.width / fontSize, maxLines + 1);
    if (lines.length <= maxLines) return { lines, fontSize };
    if (step === sizesToTry - 1) return { lines: cutOff(lines.slice(0, maxLines)), fontSize };
  }
  return { lines: [], fontSize: box.smallestFont };
}

const segmenter = new Intl.Segmenter("zh", { granularity: "grapheme" });
/** Characters that must not begin a line. */
const notAtLineStart = /^[，。、；：！？）》」』”’…,.;:!?)\]}%]$/u;
const wide =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Extended_Pictographic}\u3000-\u303f\uff00-\uff60—…“”‘’]/u;

/** Splits text where a line may break: between words, and between CJK characters. */
function splitIntoUnits(text: string): string[] {
  const units: string[] = [];
  let previous = " ";
  for (const segment of graphemes(text.trim().replaceAll(/\s+/gu, " "))) {
    const last = units.length - 1;
    const isOneWord = segment !== " " && previous !== " " && !wide.test(segment) && !wide.test(previous);
    if (last >= 0 && (isOneWord || notAtLineStart.test(segment))) units[last] += segment;
    else units.push(segment);
    previous = segment;
  }
  return units;
}

function wrap(units: readonly string[], width: number, maxLines: number): string[] {
  const lines: string[] = [];
  let line = "";
  let lineWidth = 0;
  for (const unit of units.flatMap((whole) => breakLongWord(whole, width))) {
    const unitWidth = measure(unit);
    if (line !== "" && lineWidth + unitWidth > width) {
      lines.push(line.trimEnd());
      if (lines.length === maxLines) return lines;
      [line, lineWidth] = ["", 0];
    }
    if (line === "" && unit === " ") continue;
    line += unit;
    lineWidth += unitWidth;
  }
  return line === "" ? lines : [...lines, line.trimEnd()];
}

/** Splits a word that is longer than a line into pieces of a line. */
function breakLongWord(word: string, width: number): string[] {
  if (measure(word) <= width) return [word];
  const pieces: string[] = [];
  let pieceWidth = Number.POSITIVE_INFINITY;
  for (const grapheme of graphemes(word)) {
    const graphemeWidth = measure(grapheme);
    if (pieceWidth + graphemeWidth > width) {
      pieces.push("");
      pieceWidth = 0;
    }
    pieces[pieces.length - 1] += grapheme;
    pieceWidth += graphemeWidth;
  }
  return pieces;
}

function cutOff(lines: readonly string[]): string[] {
  const last = graphemes(lines.at(-1) ?? "")
    .slice(0, -1)
    .join("")
    .trimEnd();
  return [...lines.slice(0, -1), `${last}…`];
}

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The approximate width in ems, for the character classes of a sans-serif font, rounded up. */
export function measure(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

function widthOf(character: string): number {
  if (wide.test(character)) return 1;
  if (/\p{Mark}|\u200d|\ufe0f/u.test(character)) return 0;
  if (/[ijlItfr.,:;'|!() [\]]/.test(character)) return 0.36;
  if (/[mwMW@%]/.test(character)) return 0.92;
  return /[A-Z]/.test(character) ? 0.68 : 0.58;
}
