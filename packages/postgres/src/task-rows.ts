import type { Task, TaskStatus } from "@calotype/core/stores";
import { type Row, readNumber, readText } from "./database.js";

const STATUSES: readonly TaskStatus[] = ["queued", "in_progress", "completed", "failed", "cancelled"];
const OPERATIONS: readonly Task["operation"][] = ["generate", "edit"];

/** Stored times are whole milliseconds. `extract` returns a float in PostgreSQL 13, so it is rounded. */
export const toMs = (time: string): string => `round(extract(epoch FROM ${time}) * 1000)::bigint`;

/** The columns that {@link readTask} reads, of a row of `tasks` with this name in SQL. */
export const taskColumns = (row: string): string => `
  ${sharedColumns(row)}, ${row}.result, to_json(${row}.images)::text AS images`;

/** The columns for a list: without images and result, which may be long. */
export const taskSummaryColumns = (row: string): string => `
  ${sharedColumns(row)}, NULL::text AS result, '[]' AS images`;

const sharedColumns = (row: string): string => `
  ${row}.id, ${row}.request_id, ${row}.caller, ${row}.model, ${row}.operation, ${row}.status, ${row}.error,
  ${toMs(`${row}.created_at`)} AS created_at, ${toMs(`${row}.expires_at`)} AS expires_at,
  ${toMs(`${row}.ended_at`)} AS ended_at`;

export function readTask(row: Row): Task {
  const endedAt = readOptional(row, "ended_at");
  const result = readOptional(row, "result");
  const error = readOptional(row, "error");
  return {
    id: readText(row, "id"),
    requestId: readText(row, "request_id"),
    caller: readText(row, "caller"),
    model: readText(row, "model"),
    operation: readOneOf(row, "operation", OPERATIONS),
    status: readOneOf(row, "status", STATUSES),
    createdAt: readNumber(row, "created_at"),
    expiresAt: readNumber(row, "expires_at"),
    ...(endedAt !== undefined && { endedAt: Number(endedAt) }),
    images: readStrings(row, "images"),
    ...(result !== undefined && { result }),
    ...(error !== undefined && { error }),
  };
}

/** Returns the string in a column, or `undefined` if the column is null. */
export function readOptional(row: Row, column: string): string | undefined {
  return row?.[column] === null ? undefined : readText(row, column);
}

/** Returns the value of a boolean column that is never null. */
export const readFlag = (row: Row, column: string): boolean => readText(row, column) === "t";

/** Reads a string that is one of these. */
export function readOneOf<T extends string>(row: Row, column: string, values: readonly T[]): T {
  const text = readText(row, column);
  const value = values.find((known) => known === text);
  if (value === undefined) {
    throw new TypeError(
      `The ledger's tables are not as they should be: ${column} is ${JSON.stringify(text)}.`,
    );
  }
  return value;
}

function readStrings(row: Row, column: string): string[] {
  const value: unknown = JSON.parse(readText(row, column));
  return Array.isArray(value) ? value.map(String) : [];
}
