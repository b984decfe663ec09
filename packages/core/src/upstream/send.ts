import type { JsonObject } from "../json.js";
import type { UpstreamCall } from "../upstream-call.js";
import type { UpstreamFailure } from "../upstream-failure.js";
import type { AttemptFailure } from "./attempt-failure.js";
import { readErrorAnswer } from "./read-answer.js";
import { type Timeouts, type Transport, TransportError, type TransportResponse } from "./transport.js";

/** Where an attempt goes: the part of a channel that sending needs, and one of its keys. */
export interface Destination {
  readonly toUrl: (path: string) => string;
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeouts: Timeouts;
}

/** How one attempt ended: with the head of a successful answer, or with the reason it failed. */
export type AttemptOutcome =
  | { readonly ok: true; readonly response: TransportResponse }
  | { readonly ok: false; readonly failure: AttemptFailure };

/** Sends a call to one destination, once. `classify` is the family's reading of an error answer. */
export async function sendOnce(
  transport: Transport,
  call: UpstreamCall,
  to: Destination,
  classify: (status: number, body: JsonObject | undefined) => UpstreamFailure,
): Promise<AttemptOutcome> {
  let response: TransportResponse;
  try {
    response = await transport.send({
      url: to.toUrl(call.path),
      headers: { ...call.headers, ...to.headers, authorization: `Bearer ${to.apiKey}` },
      body: call.body,
      timeouts: to.timeouts,
    });
  } catch (cause) {
    // A transport of the operator's may throw anything: what is not known may have been sent.
    return { ok: false, failure: { kind: cause instanceof TransportError ? cause.reason : "broken", cause } };
  }
  if (response.status >= 200 && response.status < 300) return { ok: true, response };
  return { ok: false, failure: await readFailure(response, classify) };
}

async function readFailure(
  response: TransportResponse,
  classify: (status: number, body: JsonObject | undefined) => UpstreamFailure,
): Promise<AttemptFailure> {
  const answer = await readErrorAnswer(response);
  const failure = classify(response.status, answer?.value);
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
