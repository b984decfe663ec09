import type { Authenticator } from "../../auth/authenticate.js";
import { GatewayError, invalidRequest, unavailable } from "../../errors.js";
import { reportRefusal } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { Kernel } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import type { Redaction } from "../../redact.js";
import { readPrefer } from "../../request/prefer.js";
import { checkMethod, type GatewayRoute, readQuery } from "../../request/route.js";
import { renderError, renderStream, toEnvelope } from "../../responses/envelope.js";
import type { Caller } from "../../types.js";
import { finishWithin } from "../../util/async.js";
import { stopReading } from "../results/stored-body.js";
import type { Task, TaskStore } from "../task-store/task-store.js";
import { renderJson, renderTask } from "./render-task.js";
import { createTaskEvents } from "./task-events.js";
import { hasEnded, isTaskId, type TaskResult, writeTaskSummary } from "./task-object.js";
import { type TaskWatch, toEndedTask } from "./task-watch.js";

/** What the routes of tasks need of the gateway. */
export interface TaskServer extends Pick<Kernel, "logger" | "refused" | "readerLimit"> {
  readonly store: TaskStore;
  readonly watch: TaskWatch;
  /** Opens the result of a completed task, as the task store keeps it. `undefined`: it has expired where it was stored. */
  readonly openResult: (result: string) => Promise<TaskResult | undefined>;
  /** Deletes what the input of a cancelled task refers to. */
  readonly removeInput: (input: string) => void;
}

/** The tasks, one task, its events, or its cancellation. The id is not decoded, and may be anything but a path. */
export const TASKS_PATH = /^(.*?)\/v1\/images\/tasks(?:\/([^/]+)(?:\/(cancel|events))?)?$/;

/** The route of `GET /v1/images/tasks`, `GET …/tasks/{id}`, `GET …/{id}/events` and `POST …/{id}/cancel`. */
export function createTasksRoute(
  host: RouteHost<Pick<TasksRequest, "authenticate" | "redactKeys">>,
  parts: TaskServer,
): GatewayRoute {
  return {
    pattern: TASKS_PATH,
    respond(request, [taskId, action]) {
      host.start();
      const response = host.respondWithOptions(request, ({ authenticate, redactKeys }, id) =>
        respondWithTasks(parts, { request, id, authenticate, redactKeys, taskId, action }),
      );
      host.track(response);
      return response;
    },
  };
}

/** A request for tasks, and the options with which it is handled. */
export interface TasksRequest {
  readonly request: GatewayRequest;
  /** The request's id. */
  readonly id: string;
  readonly authenticate: Authenticator;
  readonly redactKeys: Redaction;
  /** The part of the path behind `tasks`, as the client sent it. `undefined`: the request is for all tasks. */
  readonly taskId: string | undefined;
  /** `cancel`, `events`, or `undefined` for the task itself. */
  readonly action: string | undefined;
}

/** The longest time that the store may take. */
const STORE_MS = 10_000;

/**
 * Responds to requests that read and cancel tasks. Does not reject. Such a request counts in no limit on requests, and `onRequest`
 * and `onError` do not get it. A caller sees only its own tasks.
 */
async function respondWithTasks(parts: TaskServer, received: TasksRequest): Promise<GatewayResponse> {
  const { request, id, authenticate, redactKeys: redact } = received;
  try {
    if (received.action === "cancel") checkMethod(request, "POST");
    else checkMethod(request, "GET", "GET, HEAD");
    const caller = await authenticate(request);
    return parts.readerLimit.watch(await respond(parts, { ...received, caller }));
  } catch (cause) {
    return renderError(toReportedError(parts, cause, received), { id, redact });
  }
}

/** Failures of the stores are logged here, because the error for the client does not say what happened. */
function toReportedError(parts: TaskServer, cause: unknown, { id, request }: TasksRequest): GatewayError {
  const error = reportRefusal(parts, cause, { id, request });
  if (error.code === "gateway_unavailable") {
    parts.logger.error({ requestId: id, err: error.cause }, "Tasks could not be read or cancelled.");
  }
  return error;
}

interface KnownRequest extends TasksRequest {
  readonly caller: Caller;
}

function respond(parts: TaskServer, known: KnownRequest): Promise<GatewayResponse> {
  const { taskId, action } = known;
  if (taskId === undefined) return listTasks(parts, known);
  // The store is not asked for what cannot be an id.
  if (!isTaskId(taskId)) throw taskNotFound();
  if (action === "cancel") return cancelTask(parts, taskId, known);
  return action === "events" ? sendEvents(parts, taskId, known) : showTask(parts, taskId, known);
}

const DEFAULT_PAGE = 20;
const MAX_PAGE = 100;

/** OpenAI's shape of a list. Results are left out: a hundred of them can have a hundred megabytes. */
async function listTasks(
  { store }: TaskServer,
  { request, id, caller }: KnownRequest,
): Promise<GatewayResponse> {
  const query = readQuery(request);
  const limit = readWhole(query, "limit", { min: 1, max: MAX_PAGE }) ?? DEFAULT_PAGE;
  const after = readSingle(query, "after");
  if (after !== undefined && !isTaskId(after)) {
    throw invalidRequest("after must be the id of a task: send last_id of the page before.", "after");
  }
  const tasks = await ask(store.list(caller.id, { limit, after }));
  const last = tasks.at(-1);
  const next =
    last !== undefined && tasks.length === limit
      ? await ask(store.list(caller.id, { limit: 1, after: last.id }))
      : [];
  const ends = JSON.stringify({
    first_id: tasks[0]?.id ?? null,
    last_id: last?.id ?? null,
    has_more: next.length > 0,
  });
  return renderJson(`{"object":"list","data":[${tasks.map(writeTaskSummary).join(",")}],${ends.slice(1)}`, {
    id,
  });
}

const MAX_WAIT_SECONDS = 60;

async function showTask(parts: TaskServer, taskId: string, known: KnownRequest): Promise<GatewayResponse> {
  const { request, id } = known;
  const { seconds, headers } = readWait(request);
  const found = await findTask(parts, taskId, known);
  const task =
    hasEnded(found) || seconds === 0 ? found : await waitForEnd(parts, found, { request, seconds });
  if (request.method === "HEAD") return { ...renderJson("", { id, headers }), body: NOTHING };
  return renderTask(task, { id, headers, result: await openResult(parts, task) });
}

/** For how long a client waits, by the query or by the header `Prefer: wait` (RFC 7240, section 4.3). */
function readWait(request: GatewayRequest): {
  readonly seconds: number;
  readonly headers?: Record<string, string>;
} {
  const asked = readWhole(readQuery(request), "wait", { min: 0, max: MAX_WAIT_SECONDS });
  if (asked !== undefined) return { seconds: asked };
  const { wait } = readPrefer(request.headers);
  if (wait === undefined) return { seconds: 0 };
  // A preference is not an order: a longer wait is shortened.
  const seconds = Math.min(wait, MAX_WAIT_SECONDS);
  return { seconds, headers: { "preference-applied": `wait=${seconds}` } };
}

/** Returns the task when it has ended, or its newest known state when the time is over or the gateway closes. */
async function waitForEnd(
  { watch }: TaskServer,
  found: Task,
  { request, seconds }: { readonly request: GatewayRequest; readonly seconds: number },
): Promise<Task> {
  const endsAt = performance.now() + seconds * 1000;
  const followed = watch.follow(found, request);
  try {
    for (;;) {
      const leftMs = endsAt - performance.now();
      if (hasEnded(followed.task) || followed.isOver || leftMs <= 0) return followed.task;
      await followed.waitForChange(leftMs);
    }
  } finally {
    followed.end();
  }
}

async function sendEvents(parts: TaskServer, taskId: string, known: KnownRequest): Promise<GatewayResponse> {
  const { request, id, redactKeys } = known;
  const found = await findTask(parts, taskId, known);
  const context = { id, ignored: [] };
  if (request.method === "HEAD") return renderStream(NOTHING, context);
  const followed = hasEnded(found) ? toEndedTask(found) : parts.watch.follow(found, request);
  const events = createTaskEvents(followed, {
    openResult: (task) => openResult(parts, task),
    toEnvelope: (error) => toEnvelope(toReportedError(parts, error, known), redactKeys),
  });
  return renderStream(events, context);
}

async function cancelTask(
  parts: TaskServer,
  taskId: string,
  { caller, id }: KnownRequest,
): Promise<GatewayResponse> {
  const cancelled = await ask(parts.store.cancel(caller.id, taskId));
  if (cancelled === undefined) throw taskNotFound();
  const { task, input } = cancelled;
  // Without an input, another request has cancelled it.
  if (input !== undefined) parts.removeInput(input);
  if (task.status === "cancelled") return renderTask(task, { id });
  throw new GatewayError(
    "task_not_cancellable",
    hasEnded(task)
      ? `The task has already ended: its status is ${task.status}.`
      : "The task was sent to the provider, so it can no longer be cancelled.",
    { shouldRetry: false },
  );
}

/** @throws GatewayError `task_not_found`, also for the tasks of other callers */
async function findTask({ store }: TaskServer, taskId: string, { caller }: KnownRequest): Promise<Task> {
  const task = await ask(store.find(caller.id, taskId));
  if (task === undefined) throw taskNotFound();
  return task;
}

/**
 * Opens the result of a task. `undefined` if it has none.
 *
 * @throws GatewayError `task_result_lost`, `gateway_unavailable`
 */
async function openResult(parts: TaskServer, { status, result }: Task): Promise<TaskResult | undefined> {
  if (status !== "completed" || result === undefined) return undefined;
  const opened = await ask(parts.openResult(result), closeResult);
  if (opened !== undefined) return opened;
  throw new GatewayError(
    "task_result_lost",
    "The result of this task is no longer in the store of results.",
    {
      shouldRetry: false,
    },
  );
}

/** Ends a result that was opened too late. */
function closeResult(result: TaskResult | undefined): void {
  if (typeof result === "object") stopReading(result[Symbol.asyncIterator]());
}

/**
 * Waits for a store that may fail or hang.
 *
 * @param onLate gets a result that came too late
 * @throws GatewayError `gateway_unavailable`
 */
async function ask<T>(work: Promise<T>, onLate?: (result: T) => void): Promise<T> {
  try {
    return await finishWithin(work, { ms: STORE_MS, createError: tookTooLong, onLate });
  } catch (cause) {
    throw unavailable("The tasks cannot be read at the moment: try again.", cause);
  }
}

function tookTooLong(): Error {
  return new Error(`The store did not respond within ${STORE_MS / 1000} s.`);
}

function taskNotFound(): GatewayError {
  return new GatewayError(
    "task_not_found",
    "There is no task with this id. Send the id as it was returned, with the key that submitted the task.",
  );
}

/** @throws GatewayError `invalid_request_error` if the query has the parameter twice */
function readSingle(query: URLSearchParams, name: string): string | undefined {
  const [value, ...others] = query.getAll(name);
  if (others.length > 0) throw invalidRequest(`Send ${name} only once.`, name);
  return value;
}

/** @throws GatewayError `invalid_request_error` */
function readWhole(
  query: URLSearchParams,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const value = readSingle(query, name);
  if (value === undefined) return undefined;
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw invalidRequest(`${name} must be a whole number from ${min} to ${max}.`, name);
}

/** The body of a response to HEAD whose length is not known before the body was made. */
const NOTHING: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};
