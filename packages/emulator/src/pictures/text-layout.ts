/** Text that fits its box: the lines from top to bottom and the size they were measured at. */
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

/** The largest size at which the whole text fits; at the smallest the rest is cut off with an ellipsis. */
export function fitText(text: string, box: TextBox): LaidOutText {
  const words = splitIntoUnits(text);
  for (let step = 0; step < sizesToTry; step += 1) {
    const share = step / (sizesToTry - 1);
    const fontSize = Math.round(box.largestFont + (box.smallestFont - box.largestFont) * share);
    const maxLines = Math.max(1, Math.floor(box.height / (fontSize * lineHeight)));
    const lines = wrap(words, box.width / fontSize, maxLines + 1);
    if (lines.length <= maxLines) return { lines, fontSize };
    if (step === sizesToTry - 1) return { lines: cutOff(lines.slice(0, maxLines)), fontSize };
  }
  return { lines: [], fontSize: box.smallestFont };
}

const segmenter = new Intl.Segmenter("zh", { granularity: "grapheme" });
/** Characters that must not begin a line. */
const clinging = /^[，。、；：！？）》」』”’…,.;:!?)\]}%]$/u;
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Extended_Pictographic}\u3000-\u303f\uff00-\uff60—…“”‘’]/u;

/** What may stand alone on a line: a word of a spaced script, or a single CJK character. */
function splitIntoUnits(text: string): string[] {
  const units: string[] = [];
  for (const { segment } of segmenter.segment(text.trim().replaceAll(/\s+/gu, " "))) {
    const last = units.at(-1);
    const isJoined =
      last !== undefined && segment !== " " && last !== " " && !(wide.test(segment) || wide.test(last));
    if (last !== undefined && (isJoined || clinging.test(segment))) units[units.length - 1] = last + segment;
    else units.push(segment);
  }
  return units;
}

function wrap(units: readonly string[], width: number, maxLines: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const unit of units) {
    if (measure(line + unit) <= width || line === "") {
      line = line === "" && unit === " " ? "" : line + unit;
    } else {
      lines.push(line.trimEnd());
      line = unit === " " ? "" : unit;
    }
    line = breakLongWord(line, width, lines);
    if (lines.length >= maxLines) return lines.slice(0, maxLines);
  }
  return line === "" ? lines : [...lines, line.trimEnd()];
}

/** A word longer than a line fills as many lines as it needs; what is left of it begins the next. */
function breakLongWord(line: string, width: number, lines: string[]): string {
  let rest = line;
  while (measure(rest) > width) {
    const characters = [...segmenter.segment(rest)].map(({ segment }) => segment);
    let fitting = characters.length - 1;
    while (fitting > 1 && measure(characters.slice(0, fitting).join("")) > width) fitting -= 1;
    if (fitting < 1) return rest;
    lines.push(characters.slice(0, fitting).join(""));
    rest = characters.slice(fitting).join("");
  }
  return rest;
}

function cutOff(lines: readonly string[]): string[] {
  return lines.map((line, index) => (index === lines.length - 1 ? `${line.slice(0, -1).trimEnd()}…` : line));
}

/** About how wide the text is, in ems: the classes of a sans-serif face, rather too wide than too narrow. */
export function measure(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

function widthOf(character: string): number {
  if (wide.test(character)) return 1;
  if (/\p{Mark}|\u200d|\ufe0f/u.test(character)) return 0;
  if (/[ijlIt.,:;'|!()[\] f r]/.test(character)) return 0.36;
  if (/[mwMW@%]/.test(character)) return 0.92;
  return /[A-Z]/.test(character) ? 0.68 : 0.58;
}
