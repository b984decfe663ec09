import { GatewayError } from "../../errors.js";
import { isJsonObject, parseJson } from "../../util/json.js";
import { isName } from "../../util/name.js";
import type { Task, TaskStatus, TaskStore } from "../task-store/task-store.js";
import { isTaskId, type TaskResult } from "./task-object.js";

/** Shows and cancels the tasks of all callers, for the operator. Every method rejects with a TypeError if the ledger cannot list tasks. */
export interface TaskReports {
  /**
   * Returns tasks of all callers, the newest first.
   *
   * @throws RangeError for a field that cannot be used
   */
  list(query?: TaskQuery): Promise<TaskList>;
  /** Returns the links of the images of a completed task, without base64. Empty: it has none, or its result has expired. */
  findLinks(caller: string, id: string): Promise<readonly string[]>;
  /**
   * Cancels a task that waits in the queue, and releases its hold. A task that was sent stays as it is. Returns the task as it is now.
   *
   * @throws GatewayError `task_not_found`
   */
  cancel(caller: string, id: string): Promise<TaskInfo>;
}

/** Selects tasks. */
export interface TaskQuery {
  readonly caller?: string | undefined;
  /** `ended`: completed, failed or cancelled. Default: all. */
  readonly state?: "queued" | "in_progress" | "ended" | undefined;
  /** The largest number of tasks, from 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
}

/** Tasks, and how many of all callers wait and run. */
export interface TaskList {
  readonly tasks: readonly TaskInfo[];
  readonly queued: number;
  readonly inProgress: number;
}

/** A task for the operator. Times are ISO 8601 in UTC. */
export interface TaskInfo {
  readonly id: string;
  /** The id of its usage record. */
  readonly requestId: string;
  readonly caller: string;
  readonly model: string;
  readonly status: TaskStatus;
  readonly createdAt: string;
  /** When it fails if it still waits. */
  readonly expiresAt: string;
  /** Absent while it waits or runs. */
  readonly endedAt?: string;
  /** Why a failed task failed. */
  readonly errorCode?: string;
}

/** What {@link createTaskReports} reads and changes. */
export interface ReportedTasks {
  readonly store: TaskStore;
  /** Deletes what the input of a cancelled task refers to. */
  readonly removeInput: (input: string) => void;
  /** Opens the result of a completed task. `undefined`: it has expired. */
  readonly openResult: (result: string) => Promise<TaskResult | undefined>;
}

const ENDED: readonly TaskStatus[] = ["completed", "failed", "cancelled"];
/** A result with links is short. One with base64 may have a hundred megabytes, and is not read. */
const MAX_RESULT_LENGTH = 256 * 1024;

/** Creates the reports of the tasks of a ledger. `undefined`: it keeps none. */
export function createTaskReports(tasks: ReportedTasks | undefined): TaskReports {
  return {
    async list({ caller, state, limit = 100 } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
        throw new RangeError("limit must be a whole number from 1 to 1,000.");
      }
      const statuses = state === undefined ? undefined : state === "ended" ? ENDED : [state];
      const { store } = requireTasks(tasks);
      if (store.listAll === undefined) throw new TypeError("The ledger of this gateway cannot list tasks.");
      const found = await store.listAll({ caller, statuses, limit });
      return { ...found, tasks: found.tasks.map(toInfo) };
    },
    async findLinks(caller, id) {
      const { store, openResult } = requireTasks(tasks);
      const task = isName(caller) && isTaskId(id) ? await store.find(caller, id) : undefined;
      const result = task?.result === undefined ? undefined : await openResult(task.result);
      return result === undefined ? [] : readLinks(await readText(result));
    },
    async cancel(caller, id) {
      const { store, removeInput } = requireTasks(tasks);
      const cancelled = isName(caller) && isTaskId(id) ? await store.cancel(caller, id) : undefined;
      if (cancelled === undefined) throw new GatewayError("task_not_found", "There is no such task.");
      if (cancelled.input !== undefined) removeInput(cancelled.input);
      return toInfo(cancelled.task);
    },
  };
}

/** @throws TypeError */
function requireTasks(tasks: ReportedTasks | undefined): ReportedTasks {
  if (tasks !== undefined) return tasks;
  throw new TypeError("The ledger of this gateway keeps no tasks.");
}

function toInfo({
  id,
  requestId,
  caller,
  model,
  status,
  createdAt,
  expiresAt,
  endedAt,
  error,
}: Task): TaskInfo {
  const code = error === undefined ? undefined : readCode(error);
  return {
    id,
    requestId,
    caller,
    model,
    status,
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
    ...(endedAt !== undefined && { endedAt: new Date(endedAt).toISOString() }),
    ...(code !== undefined && { errorCode: code }),
  };
}

/** The code of an error that a worker has stored as JSON. */
function readCode(error: string): string | undefined {
  const value = parseJson(error);
  const code = isJsonObject(value) ? value["code"] : undefined;
  return typeof code === "string" ? code : undefined;
}

function readLinks(text: string | undefined): readonly string[] {
  const body = text === undefined ? undefined : parseJson(text);
  const data = isJsonObject(body) ? body["data"] : undefined;
  if (!Array.isArray(data)) return [];
  return data.flatMap((image: unknown) =>
    isJsonObject(image) && typeof image["url"] === "string" && /^https?:/.test(image["url"])
      ? [image["url"]]
      : [],
  );
}

/** `undefined`: it is too long to be one with links. */
async function readText(result: TaskResult): Promise<string | undefined> {
  if (typeof result === "string") return result;
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of result) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_RESULT_LENGTH) return undefined;
  }
  return text + decoder.decode();
}
