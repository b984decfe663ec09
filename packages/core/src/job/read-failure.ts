import type { Family } from "../families/family.js";
import { findErrorMessage } from "../upstream/error-message.js";
import { readErrorBody } from "../upstream/read-answer.js";
import type { TransportResponse } from "../upstream/transport.js";
import type { AttemptFailure } from "../upstream-failure.js";

/**
 * Classifies an error response. The family reads its provider's own errors; a proxy in front of the provider may send
 * others.
 */
export async function readFailure(response: TransportResponse, family: Family): Promise<AttemptFailure> {
  const { text, value } = await readErrorBody(response);
  const failure = family.toFailure(response.status, value);
  return {
    ...failure,
    message: failure.message ?? findErrorMessage(text),
    body: value && text,
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? failure.requestId,
    retryAfterSeconds: readRetryAfter(response.headers.get("retry-after")),
  };
}

/** `retry-after` in seconds; a date is not used by these providers. */
function readRetryAfter(header: string | null): number | undefined {
  return /^\d{1,9}(?:\.\d+)?$/.test(header ?? "") ? Math.ceil(Number(header)) : undefined;
}
