import type { SQLOutputValue } from "node:sqlite";

/** A row as SQLite gives it; `undefined` when there is none. */
export type Row = Readonly<Record<string, SQLOutputValue>> | undefined;

/** The text in a column that is always one. */
export function readText(row: Row, column: string): string {
  const value = row?.[column];
  if (typeof value !== "string") throw unexpected(column, value);
  return value;
}

/** The text in a column, or `null`. */
export function readTextOrNull(row: Row, column: string): string | null {
  return row?.[column] === null ? null : readText(row, column);
}

/** The whole number in a column that is always one. */
export function readNumber(row: Row, column: string): number {
  const value = row?.[column];
  if (typeof value !== "number") throw unexpected(column, value);
  return value;
}

function unexpected(column: string, value: unknown): Error {
  return new Error(`The ledger's file is damaged: a column ${column} holds ${typeof value}.`);
}
