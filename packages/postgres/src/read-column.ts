/** A row, every column as text; `undefined` when there is none. */
export type Row = Readonly<Record<string, unknown>> | undefined;

/** The text in a column that is always there. */
export function readText(row: Row, column: string): string {
  const value = row?.[column];
  if (typeof value !== "string") {
    throw new TypeError(`The ledger's tables are not as they should be: ${column} is ${typeof value}.`);
  }
  return value;
}

/** The number in a column that is always there. */
export function readNumber(row: Row, column: string): number {
  return Number(readText(row, column));
}
