import { join } from "node:path";
import { ROOT, readText } from "./workspace.js";

const BEGIN = "<!-- Written by the tests from what they saw: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

/** Returns a document with these lines in the place of those that the tests wrote, and its path, for `toMatchFileSnapshot`. */
export function writeLines(
  document: string,
  lines: readonly string[],
): { readonly text: string; readonly path: string } {
  const [before, rest = ""] = readText(document).split(BEGIN);
  const [, after] = rest.split(END);
  return { text: `${before}${BEGIN}${lines.join("\n")}\n\n${END}${after}`, path: join(ROOT, document) };
}

/** The lines of a table. */
export function renderTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return [head, head.map(() => "---"), ...rows].map(row);
}

/** Returns a document with this table in the place of the one that the tests wrote, and its path, for `toMatchFileSnapshot`. */
export function writeTable(
  document: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): { readonly text: string; readonly path: string } {
  return writeLines(document, renderTable(head, rows));
}
