import type { GatewayResponse, GatewayResponseBody } from "../../http.js";
import { toResponseHeaders } from "../../responses/envelope.js";
import type { Task } from "../task-store/task-store.js";
import { type TaskResult, writeTask, writeTaskSummary } from "./task-object.js";

/** What the response with a task needs besides the task. */
export interface TaskResponseContext {
  /** The request's id. */
  readonly id: string;
  /** The result of a completed task. */
  readonly result?: TaskResult | undefined;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Returns the response with a task. It is streamed if the result is bytes. */
export function renderTask(task: Task, { id, result, headers }: TaskResponseContext): GatewayResponse {
  return renderJson(writeTask(task, result), { id, headers });
}

/** Returns a response with this JSON. */
export function renderJson(
  body: GatewayResponseBody,
  { id, headers }: Pick<TaskResponseContext, "id" | "headers">,
): GatewayResponse {
  return {
    status: 200,
    headers: { ...toResponseHeaders("application/json", { id, ignored: [] }), ...headers },
    body,
  };
}

/** After how many seconds a client reads a task for the first time. Few images take less. */
export const FIRST_READ_SECONDS = 5;

/** What the response to a submission needs besides the task. */
interface AcceptedContext extends Pick<TaskResponseContext, "id"> {
  /** The URL of the task. */
  readonly location: string;
  /** Fields of the client that had no effect. Default: none. */
  readonly ignored?: readonly string[] | undefined;
  /** The size that was requested in place of the client's, if it was replaced. */
  readonly replacedSize?: string | undefined;
}

/**
 * Returns the 202 for a submission (RFC 7240, section 4.1). A repeated submission may find a task that has ended: then its
 * result is left out, because it is at `location`.
 */
export function renderAccepted(
  task: Task,
  { id, location, ignored = [], replacedSize }: AcceptedContext,
): GatewayResponse {
  return {
    status: 202,
    headers: {
      ...toResponseHeaders("application/json", { id, ignored, replacedSize }),
      location,
      "retry-after": String(FIRST_READ_SECONDS),
      "preference-applied": "respond-async",
    },
    body: writeTaskSummary(task),
  };
}
