import type { Family } from "../families/family.js";
import type { AttemptFailure } from "../upstream/attempt-failure.js";
import { readErrorAnswer } from "../upstream/read-answer.js";
import type { TransportResponse } from "../upstream/transport.js";

/** What an answer without success says, in the family's reading of it. */
export async function readFailure(response: TransportResponse, family: Family): Promise<AttemptFailure> {
  const answer = await readErrorAnswer(response);
  const failure = family.toFailure(response.status, answer?.value);
  return {
    ...failure,
    body: answer?.text,
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? failure.requestId,
    retryAfterSeconds: readRetryAfter(response.headers.get("retry-after")),
  };
}

/** `retry-after` in seconds; a date is not used by these providers. */
function readRetryAfter(header: string | null): number | undefined {
  return /^\d{1,9}(?:\.\d+)?$/.test(header ?? "") ? Math.ceil(Number(header)) : undefined;
}
