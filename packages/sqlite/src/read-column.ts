import type { SQLOutputValue } from "node:sqlite";

/** A row of SQLite, or `undefined` if there is no row. */
export type Row = Readonly<Record<string, SQLOutputValue>> | undefined;

/** Returns the string in a column that is never null. */
export function readText(row: Row, column: string): string {
  const value = row?.[column];
  if (typeof value !== "string") throw unexpected(column, value);
  return value;
}

/** Returns the string in a column, or `null`. */
export function readTextOrNull(row: Row, column: string): string | null {
  return row?.[column] === null ? null : readText(row, column);
}

/** Returns the integer in a column that is never null. */
export function readNumber(row: Row, column: string): number {
  const value = row?.[column];
  if (typeof value !== "number") throw unexpected(column, value);
  return value;
}

/** Returns the integer in a column, or `null`. */
export function readNumberOrNull(row: Row, column: string): number | null {
  return row?.[column] === null ? null : readNumber(row, column);
}

function unexpected(column: string, value: unknown): Error {
  return new Error(`The ledger's file is damaged: a column ${column} holds ${typeof value}.`);
}
