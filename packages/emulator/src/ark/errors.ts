import { jsonResponse, retryAfter } from "../http/json-response.js";
import type { Refusal } from "../refusal.js";
import { arkErrors, isArkErrorCode } from "./error-codes.js";

/** Why an image was not made. */
export interface Failure {
  readonly code: string;
  /** Only where it is closer than the table's. */
  readonly message: string | undefined;
}

const types: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  429: "TooManyRequests",
};

/** The status of a code; a code that the table lacks is taken for a refusal of the content. */
export function statusOf(code: string): number {
  return isArkErrorCode(code) ? arkErrors[code].status : 400;
}

/** What stands under `error`. Every message ends with the request id. */
export function describeError({ code, message }: Failure, requestId: string) {
  const fromTable = isArkErrorCode(code) ? arkErrors[code].message : code;
  return { code, message: `${message || fromTable} Request id: ${requestId}` };
}

export function renderArkRefusal(refusal: Refusal, requestId: string): Response {
  const status = refusal.status ?? statusOf(refusal.code);
  const { code, message } = describeError(refusal, requestId);
  const kind = status < 400 ? statusOf(refusal.code) : status; // an error under a 200 keeps its own type
  const type = types[kind] ?? (kind >= 500 ? "InternalServerError" : "BadRequest");
  const body = { error: { code, message, param: refusal.param, type } };
  return jsonResponse(body, status, retryAfter(refusal.retryAfterSeconds));
}

/** The first code of the table with this status. */
export function arkCodeForStatus(status: number): string {
  const found = Object.entries(arkErrors).find(([, facts]) => facts.status === status);
  return found?.[0] ?? (status < 500 ? "InvalidParameter" : "InternalServiceError");
}
