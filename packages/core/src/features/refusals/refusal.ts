import { type RefusingBudget, shownCodeOf } from "../../errors.js";
import type { FailedRequest } from "../../events.js";
import { requestPath } from "../../request/route.js";

/**
 * A request that got an error and has no usage record, because no provider got it. Never has a prompt, an image or a key, and no
 * message of the error, in which the prompt may be quoted.
 */
export interface Refusal {
  /** The request's id, which the client got in `x-request-id`. */
  readonly id: string;
  /** When the request was refused, ISO 8601 in UTC. */
  readonly time: string;
  readonly method: string;
  /** The path without its query. Parts that are longer than 40 characters, or that may be a key, are `…`. */
  readonly path: string;
  readonly status: number;
  /** The `error.code` that the client got. */
  readonly code: string;
  /** The field that was wrong. */
  readonly param?: string | undefined;
  /** The limit that refused the request, such as `requests` or `budget`. */
  readonly limit?: string | undefined;
  /** What the request may cost, and what was left of the budget. */
  readonly budget?: RefusingBudget | undefined;
  /** Absent if the request was refused before its caller was known. */
  readonly caller?: string | undefined;
  /** The service model. Absent if the request was refused before it was known. */
  readonly model?: string | undefined;
  /** From the arrival of the request to its refusal. Absent for requests that make no images. */
  readonly durationMs?: number | undefined;
}

/** In UTF-16 units. With the names of a caller and a model, which are bounded too, a refusal takes less than 8 KiB. */
const MAX_CODE = 128;
const MAX_METHOD = 32;
const MAX_PATH = 256;
const MAX_PART = 40;

/** Describes a failed request. */
export function toRefusal(
  { id, request, error, caller, model, receivedAt }: FailedRequest,
  now: number,
): Refusal {
  const { status, param, limit, budget } = error;
  return {
    id,
    time: new Date(now).toISOString(),
    method: request.method.slice(0, MAX_METHOD),
    path: hideKeys(requestPath(request).slice(0, MAX_PATH)),
    status,
    code: shownCodeOf(error).slice(0, MAX_CODE),
    // The name of a field has no spaces, so it is never a prompt.
    param: param !== undefined && /^[\w.[\]-]{1,99}$/.test(param) ? param : undefined,
    limit: limit?.slice(0, MAX_CODE),
    budget,
    caller,
    model,
    // The clock may be set back during the request.
    durationMs: receivedAt === undefined ? undefined : Math.max(0, now - receivedAt),
  };
}

/** Some clients put their key into the path. */
function hideKeys(path: string): string {
  const parts = path.split("/");
  return parts
    .map((part) => (part.length > MAX_PART || /^(?:sk|cal)[-_]/i.test(part) ? "…" : part))
    .join("/");
}
