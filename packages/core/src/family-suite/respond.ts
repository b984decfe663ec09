import type { ReplayedCall, Respond } from "./replay.js";
import type { RecordedExchange, RecordedJob, RecordedResponse } from "./subject.js";

/** Responds to the calls of one exchange as recorded. */
export interface Responder {
  readonly respond: Respond;
  /** True for a call like the first one. The others ask about a job. */
  readonly isSubmission: (call: ReplayedCall) => boolean;
}

/** @param parts the number of chunks of each response. Default: all in one */
export function createResponder(exchange: RecordedExchange, parts = 1): Responder {
  const { response } = exchange;
  const job = jobOf(exchange);
  let submission: string | undefined;
  let calls = 0;
  const isSubmission = (call: ReplayedCall): boolean => {
    submission ??= nameOf(call);
    return nameOf(call) === submission;
  };
  return {
    isSubmission,
    respond(_index, call) {
      if (isSubmission(call) || job === undefined) return toResponse(response, parts);
      const recorded = job.polls[calls++] ?? job.result ?? job.polls.at(-1);
      return toResponse(recorded ?? response, parts);
    },
  };
}

/** What follows the submission of an exchange. */
export const jobOf = ({ job, task }: RecordedExchange): RecordedJob | undefined => job ?? task;

/** The response that has the images: that of the job, or the only one. */
export function findResult(exchange: RecordedExchange): RecordedResponse {
  const job = jobOf(exchange);
  return job?.result ?? job?.polls.at(-1) ?? exchange.response;
}

/** The path without the channel. */
function nameOf({ method, url }: ReplayedCall): string {
  return `${method} ${new URL(url).pathname}`;
}

/** @param parts the number of chunks, of at least one byte each. Default: all in one */
export function toResponse({ status = 200, headers, body }: RecordedResponse, parts = 1): Response {
  const isStream = typeof body === "string";
  const bytes = new TextEncoder().encode(isStream ? body : JSON.stringify(body));
  const type = { "content-type": isStream ? "text/event-stream" : "application/json" };
  const sent = parts === 1 ? bytes : toStream(bytes, Math.ceil(bytes.length / parts));
  return new Response(sent, { status, headers: { ...type, ...headers } });
}

function toStream(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      if (start >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(start, start + size));
      start += size;
    },
  });
}
