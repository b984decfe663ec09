import { CalotypeError, toError } from "./errors.js";
import {
  type ImageRequest,
  parseJson,
  readJson,
  readResult,
  readStream,
  toHttpRequest,
} from "./image-request.js";
import type { components } from "./openapi-types.js";
import {
  type CallOptions,
  type Connection,
  call,
  findDelay,
  type ImageCallOptions,
  pause,
  send,
  startLimit,
} from "./send.js";
import { readSse, type SseEvent } from "./sse.js";
import type { ImagesResult, Task, TaskEvent, TaskPage } from "./types.js";

/** Images that a client reads later, also after it was restarted. */
export interface Tasks {
  /**
   * Submits a request and returns its task at once. A gateway whose ledger has no tasks makes the images, and the result is a
   * completed task that exists only here.
   */
  submit(request: ImageRequest, options?: ImageCallOptions): Promise<Task>;
  /** Reads a task as it is now. */
  get(id: string, options?: CallOptions): Promise<Task>;
  /**
   * Waits until a task has ended, however long that takes. Failed connections are repeated.
   *
   * @param task its id, or the task itself
   * @throws CalotypeError the error of a failed task, or `task_cancelled`
   */
  wait(task: string | Task, options?: CallOptions): Promise<ImagesResult>;
  /**
   * Follows a task from its current state to its end, over as many connections as that takes. Each image comes once. Leaving the
   * loop stops following and does not cancel the task.
   */
  events(id: string, options?: CallOptions): AsyncGenerator<TaskEvent, void, undefined>;
  /**
   * Cancels a task that is `queued`, which then costs nothing.
   *
   * @throws CalotypeError `task_not_cancellable` if it was sent or has ended
   */
  cancel(id: string, options?: CallOptions): Promise<Task>;
  /** Lists the caller's tasks, the newest first. */
  list(options?: ListOptions): Promise<TaskPage>;
}

/** Which tasks are listed. */
export interface ListOptions extends CallOptions {
  /** From 1 to 100. Default 20. */
  readonly limit?: number | undefined;
  /** The `last_id` of the page before. */
  readonly after?: string | undefined;
}

const PATH = "/v1/images/tasks";

/** Creates the methods for tasks. */
export function createTasks(connection: Connection): Tasks {
  return {
    submit: (request, options = {}) => {
      const submission = toHttpRequest(request, options, { headers: { prefer: "respond-async" } });
      return call(connection, submission, readSubmission);
    },
    get: (id, options = {}) => call(connection, { method: "GET", path: toPath(id), options }, readJson<Task>),
    wait: (task, options = {}) => waitForTask(connection, task, options),
    events: (id, options = {}) => followTask(connection, id, options),
    cancel: (id, options = {}) =>
      call(connection, { method: "POST", path: `${toPath(id)}/cancel`, options }, readJson<Task>),
    list: ({ limit, after, ...options } = {}) => {
      const query = new URLSearchParams();
      if (limit !== undefined) query.set("limit", String(limit));
      if (after !== undefined) query.set("after", after);
      return call(connection, { method: "GET", path: `${PATH}?${query}`, options }, readJson<TaskPage>);
    },
  };
}

function toPath(id: string): string {
  return `${PATH}/${encodeURIComponent(id)}`;
}

async function readSubmission(response: Response): Promise<Task> {
  if (response.status === 202) return readJson<Task>(response);
  const result = await readResult(response);
  const { created, model = "", requestId = "" } = result;
  const times = { created_at: created, expires_at: created, ended_at: created };
  const of = { id: requestId, request_id: requestId, operation: "generate", model } as const;
  return { object: "image.task", status: "completed", ...of, ...times, result };
}

async function waitForTask(
  connection: Connection,
  given: string | Task,
  options: CallOptions,
): Promise<ImagesResult> {
  const id = typeof given === "string" ? given : given.id;
  // Without its result if it comes from a list.
  let task = typeof given === "string" || (given.status === "completed" && !given.result) ? undefined : given;
  if (task === undefined || !hasEnded(task)) {
    for await (const event of followTask(connection, id, options))
      if (event.type === "status") task = event.task;
  }
  return toResult(task);
}

/** @throws CalotypeError if the task did not complete */
function toResult(task: Task | undefined): ImagesResult {
  const { status, result, error, request_id: requestId } = task ?? {};
  if (result !== undefined) return { ...result, ...(requestId !== undefined && { requestId }) };
  if (status !== "cancelled") throw toError(error, { requestId });
  throw new CalotypeError("The task was cancelled.", { code: "task_cancelled", requestId });
}

function hasEnded({ status }: Task): boolean {
  return status !== "queued" && status !== "in_progress";
}

/** Before a stream begins again that the gateway has ended. */
const AGAIN_MS = 1_000;
/** The gateway sends a comment every 15 seconds. */
const MAX_SILENCE_MS = 45_000;
/** A task outlives a gateway that restarts, so its connection may fail more often than `maxRetries`. */
const PATIENCE = 5;

async function* followTask(
  connection: Connection,
  id: string,
  options: CallOptions,
): AsyncGenerator<TaskEvent, void, undefined> {
  const limit = startLimit(connection, { ...options, timeoutSeconds: options.timeoutSeconds ?? Infinity });
  const request = { method: "GET", path: `${toPath(id)}/events`, options } as const;
  const reader = new TaskReader();
  let failures = 0;
  try {
    for (;;) {
      let delayMs: number | undefined = AGAIN_MS;
      try {
        const body = await send(connection, request, { limit, read: readStream });
        for await (const event of readSse(body, MAX_SILENCE_MS)) {
          failures = 0;
          yield* reader.read(event);
          if (reader.hasEnded) return;
        }
      } catch (cause) {
        const error = limit.toError(cause);
        delayMs = findDelay(error, ++failures);
        if (delayMs === undefined || failures > connection.maxRetries * PATIENCE) throw error;
      }
      await pause(delayMs, limit);
    }
  } finally {
    limit.end();
  }
}

type ImageData = components["schemas"]["TaskImageEvent"];
type ErrorData = Partial<components["schemas"]["Error"]>;

/** Reads the events of one task. Each connection begins with those that were there before. */
class TaskReader {
  hasEnded = false;
  #status: Task["status"] | undefined;
  #images = 0;

  *read({ event, data }: SseEvent): Generator<TaskEvent, void, undefined> {
    if (event === "error") {
      const { error } = parseJson<ErrorData>(data);
      // The task has a result, which cannot be read at the moment.
      throw toError(error, { shouldRetry: error?.code === "gateway_unavailable" });
    }
    if (event === "status") {
      const task = parseJson<Task>(data);
      this.hasEnded = hasEnded(task);
      if (task.status !== this.#status) yield { type: "status", task };
      this.#status = task.status;
    }
    if (event === "image") {
      const { index, image } = parseJson<ImageData>(data);
      if (index < this.#images) return;
      this.#images = index + 1;
      yield { type: "image", index, image };
    }
  }
}
