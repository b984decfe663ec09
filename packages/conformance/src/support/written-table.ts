import { join } from "node:path";
import { ROOT, readText } from "./workspace.js";

const BEGIN = "<!-- Written by the tests from what they saw: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";

const row = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;

/** Returns a document with this table in the place of the one that the tests wrote, and its path, for `toMatchFileSnapshot`. */
export function writeTable(
  document: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): { readonly text: string; readonly path: string } {
  const table = [head, head.map(() => "---"), ...rows].map(row).join("\n");
  const [before, rest = ""] = readText(document).split(BEGIN);
  const [, after] = rest.split(END);
  return { text: `${before}${BEGIN}${table}\n\n${END}${after}`, path: join(ROOT, document) };
}
