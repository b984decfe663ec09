import type { GatewayError } from "./errors.js";
import type { AttemptRecord, Caller, ImageRequest, Operation } from "./image-request.js";

/** The operator's own check of a request that was understood and is about to be sent. */
export type BeforeSend = (request: ImageRequest, caller: Caller) => void | Promise<void>;

/** Which request an event is about. */
export interface EventSubject {
  /** The request's id, as the client sees it in `x-request-id`. */
  readonly id: string;
  /** When it came in, ISO 8601 in UTC. */
  readonly time: string;
  readonly operation: Operation;
  /** Absent for a request that was refused before its caller was known. */
  readonly caller?: string | undefined;
  /** The service model. Absent for a request that was refused before it was known. */
  readonly model?: string | undefined;
}

/** One request, as it is answered. */
export interface RequestEvent extends EventSubject {
  readonly status: number;
  /** The `error.code` that the client sees, when the request failed. */
  readonly errorCode?: string | undefined;
  /** True when the answer is a stream, which begins now. */
  readonly stream: boolean;
  /** From the request's arrival to its answer, or to the beginning of the stream. */
  readonly durationMs: number;
}

/** One request that failed. */
export interface FailureEvent extends EventSubject {
  /** What the client was told, and why: `cause` holds what lay behind it. No key stands in its message. */
  readonly error: GatewayError;
  /** The attempts in order. Absent if the request was refused before it was sent. */
  readonly attempts?: readonly AttemptRecord[] | undefined;
}
