import { GatewayError } from "../../errors.js";
import { isJsonObject, parseJson } from "../../util/json.js";
import { isName } from "../../util/name.js";
import type { Task, TaskStatus, TaskStore } from "../task-store/task-store.js";
import { isTaskId } from "./task-object.js";

/** Shows and cancels the tasks of all callers, for the operator. Every method rejects with a TypeError if the ledger cannot list tasks. */
export interface TaskReports {
  /**
   * Returns tasks of all callers, the newest first.
   *
   * @throws RangeError for a field that cannot be used
   */
  list(query?: TaskQuery): Promise<TaskList>;
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
}

const ENDED: readonly TaskStatus[] = ["completed", "failed", "cancelled"];

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
