import type { NewTask, Task, TaskStatus } from "@calotype/core/stores";
import { type Row, readNumber, readNumberOrNull, readText, readTextOrNull } from "./read-column.js";

/** The columns of a task. */
export const TASK_COLUMNS = `sequence, id, request_id, caller, model, operation, status, owner, created_at, expires_at,
  ended_at, keep_ms, fingerprint, webhooks, hold, images, result, error`;

/** The columns that {@link readTask} reads for a list: without images and result, which may be long. */
export const TASK_SUMMARY_COLUMNS = `sequence, id, request_id, caller, model, operation, status, created_at, expires_at,
  ended_at, '[]' AS images, NULL AS result, error`;

/** A task as it is stored. */
export interface TaskRow {
  readonly sequence: number;
  readonly task: Task;
  /** Who took it. `null` in the queue and after its end. */
  readonly owner: string | null;
  readonly keepMs: number;
  readonly fingerprint: string | null;
  readonly endpoints: readonly string[];
  /** As JSON. `null` after its end. */
  readonly hold: string | null;
}

/** Reads a row of tasks. */
export function readTaskRow(row: Row): TaskRow {
  return {
    sequence: readNumber(row, "sequence"),
    task: readTask(row),
    owner: readTextOrNull(row, "owner"),
    keepMs: readNumber(row, "keep_ms"),
    fingerprint: readTextOrNull(row, "fingerprint"),
    endpoints: readStrings(row, "webhooks"),
    hold: readTextOrNull(row, "hold"),
  };
}

/** Reads the part of a row that clients see. */
export function readTask(row: Row): Task {
  const endedAt = readNumberOrNull(row, "ended_at");
  const result = readTextOrNull(row, "result");
  const error = readTextOrNull(row, "error");
  return {
    id: readText(row, "id"),
    requestId: readText(row, "request_id"),
    caller: readText(row, "caller"),
    model: readText(row, "model"),
    operation: readOneOf(row, "operation", OPERATIONS),
    status: readOneOf(row, "status", STATUSES),
    createdAt: readNumber(row, "created_at"),
    expiresAt: readNumber(row, "expires_at"),
    images: readStrings(row, "images"),
    ...(endedAt !== null && { endedAt }),
    ...(result !== null && { result }),
    ...(error !== null && { error }),
  };
}

const OPERATIONS: readonly NewTask["operation"][] = ["generate", "edit"];
const STATUSES: readonly TaskStatus[] = ["queued", "in_progress", "completed", "failed", "cancelled"];

/** Reads a string that is one of these. */
export function readOneOf<T extends string>(row: Row, column: string, known: readonly T[]): T {
  const text = readText(row, column);
  const value = known.find((one) => one === text);
  if (value === undefined)
    throw new Error(`The ledger's file is damaged: a column ${column} has an unknown value.`);
  return value;
}

function readStrings(row: Row, column: string): readonly string[] {
  const strings: unknown = JSON.parse(readText(row, column));
  if (Array.isArray(strings) && strings.every((value) => typeof value === "string")) return strings;
  throw new Error(`The ledger's file is damaged: a column ${column} is not a list of strings.`);
}
