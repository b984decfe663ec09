/** Replaces characters that could change how a terminal shows a line, such as line ends and changes of the direction. */
export function toPrintable(value: string): string {
  return value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** The longest cell; a longer one is cut. The last one of a row may be longer. */
const MAX_CELL = 80;
const MAX_LAST_CELL = 400;

/** Formats a table. Each row is one line, whatever its cells contain. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) =>
    row.map((cell, column) => toCell(cell, column === head.length - 1 ? MAX_LAST_CELL : MAX_CELL)),
  );
  const widths = head.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function toCell(value: string, maxLength: number): string {
  const printable = toPrintable(value);
  return printable.length <= maxLength ? printable : `${printable.slice(0, maxLength - 1)}…`;
}
