/**
 * Renders a Markdown table for a terminal. The first row is the head. All columns except the first are
 * right-aligned.
 */
export function renderTable(title: string, rows: readonly (readonly (string | number)[])[]): string {
  const cells = rows.map((row) => row.map(String));
  const columns = Math.max(...cells.map(({ length }) => length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const toLine = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => pad(row[column] ?? "", width, column)).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`,
  );
  const [head = [], ...body] = cells;
  return [title, "", toLine(head), toLine(rule), ...body.map(toLine), ""].join("\n");
}

function pad(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width);
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
