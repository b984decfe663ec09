/**
 * Replaces strings in JSON, however their characters are escaped there: Go, for example, writes `&` as `\u0026`. All else
 * stays as it is.
 *
 * @param text JSON, or a line of JSON
 * @param replacements what is written in place of each string and its quotes, as JSON
 */
export function replaceJsonStrings(text: string, replacements: ReadonlyMap<string, string>): string {
  let written = "";
  let copied = 0;
  let start = text.indexOf('"');
  while (start !== -1) {
    const end = findEnd(text, start + 1);
    if (end === -1) break;
    const replacement = replacements.get(read(text.slice(start + 1, end)));
    if (replacement !== undefined) {
      written += text.slice(copied, start) + replacement;
      copied = end + 1;
    }
    start = text.indexOf('"', end + 1);
  }
  return written + text.slice(copied);
}

/** The closing quote of a string, or -1. */
function findEnd(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes++;
  return backslashes % 2 === 1;
}

/** @param written without quotes */
function read(written: string): string {
  if (!written.includes("\\")) return written;
  try {
    return String(JSON.parse(`"${written}"`));
  } catch {
    return written;
  }
}
