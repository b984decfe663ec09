import type { Table } from "./tables.ts";

/** Renders a table for a terminal, with numbers aligned to the right. */
export function renderText({ title, rows, notes }: Table): string {
  const widths = widthsOf(rows);
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
  return [title, ...lines.map((line) => `  ${line}`), ...notes.map((note) => `  ${note}`), ""].join("\n");
}

/** Renders a table in Markdown. */
export function renderMarkdown({ title, rows, notes }: Table): string {
  return [`### ${title}`, "", renderRows(rows), ...notes.flatMap((note) => ["", note]), ""].join("\n");
}

/** Renders rows in Markdown. The first row has the names of the columns, and the first column is text; the others are if `isText`. */
export function renderRows([head = [], ...rows]: Table["rows"], isText = false): string {
  const rule = head.map((_, column) => (column === 0 || isText ? "---" : "---:"));
  return [head, rule, ...rows].map(toLine).join("\n");
}

function toLine(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

function widthsOf(rows: Table["rows"]): number[] {
  const columns = Math.max(...rows.map((row) => row.length));
  return Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
}
