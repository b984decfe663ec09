import { wrapBytes } from "../../util/wrap-bytes.js";
import type { Task, TaskStatus } from "../task-store/task-store.js";

/**
 * A task as clients see it, without what the worker wrote as JSON: {@link writeTask} adds `images`, `result` and `error`.
 * Times are whole seconds since 1970, as in OpenAI's objects.
 */
interface TaskObject {
  readonly id: string;
  readonly object: "image.task";
  readonly status: TaskStatus;
  readonly created_at: number;
  /** When a task that still waits fails. */
  readonly expires_at: number;
  /** When the task reached its final state. Absent before that. */
  readonly ended_at?: number;
  readonly model: string;
  readonly operation: Task["operation"];
  /** The `x-request-id` of the submission, which is also the id of the usage record. */
  readonly request_id: string;
}

/** The result of a completed task: JSON, or the bytes of JSON that is stored elsewhere. */
export type TaskResult = string | AsyncIterable<Uint8Array>;

/** Creates the id of a task: `task_` and 32 hexadecimal digits, with 122 random bits. */
export function createTaskId(): string {
  return `task_${crypto.randomUUID().replaceAll("-", "")}`;
}

const TASK_ID = /^task_[\da-f]{32}$/;

/** Whether a string that a client sent can be the id of a task. */
export function isTaskId(id: string): boolean {
  return TASK_ID.test(id);
}

/** Whether a task has reached its final state. */
export function hasEnded({ status }: Pick<Task, "status">): boolean {
  return status !== "queued" && status !== "in_progress";
}

/** Returns the members of a task that the worker did not write. */
export function toTaskObject(task: Task): TaskObject {
  return {
    id: task.id,
    object: "image.task",
    status: task.status,
    created_at: toSeconds(task.createdAt),
    expires_at: toSeconds(task.expiresAt),
    ...(task.endedAt !== undefined && { ended_at: toSeconds(task.endedAt) }),
    model: task.model,
    operation: task.operation,
    request_id: task.requestId,
  };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}

/** Writes a task with its error, and without its images and its result: for lists. */
export function writeTaskSummary(task: Task): string {
  return addMembers(toTaskObject(task), { error: task.error });
}

/**
 * Writes a task with the images that arrived so far, or with its result or its error. The worker's JSON is copied and never
 * parsed, because it can have megabytes.
 *
 * @param result of a completed task. It is not that of the task store, which may be the place of the result. If it is bytes,
 * so is the object, and the result is read while the object is.
 */
export function writeTask(task: Task, result?: TaskResult): TaskResult {
  const object = toTaskObject(task);
  const images = task.images.length > 0 ? `[${task.images.join(",")}]` : undefined;
  if (result === undefined || typeof result === "string") {
    return addMembers(object, { images, result, error: task.error });
  }
  const start = addMembers(object, { images, error: task.error });
  return wrapBytes(result, { before: `${start.slice(0, -1)},"result":`, after: "}" });
}

/** Adds members whose values are JSON. Those that are `undefined` are left out. */
function addMembers(object: TaskObject, members: Readonly<Record<string, string | undefined>>): string {
  const added = Object.entries(members).map(([name, json]) =>
    json === undefined ? "" : `,"${name}":${json}`,
  );
  return `${JSON.stringify(object).slice(0, -1)}${added.join("")}}`;
}
