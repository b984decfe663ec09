import type { ReplayedCall, Respond } from "./replay.js";
import type { RecordedExchange, RecordedResponse } from "./subject.js";

/** Responds to the calls of one exchange as recorded. */
export interface Responder {
  readonly respond: Respond;
  /** True for a call like the first one. The others ask about a task. */
  readonly isSubmission: (call: ReplayedCall) => boolean;
}

/** @param parts the number of chunks of each response. Default: all in one */
export function createResponder({ response, task }: RecordedExchange, parts = 1): Responder {
  let submission: string | undefined;
  let questions = 0;
  const isSubmission = (call: ReplayedCall): boolean => {
    submission ??= nameOf(call);
    return nameOf(call) === submission;
  };
  return {
    isSubmission,
    respond(_index, call) {
      if (isSubmission(call) || task === undefined) return toResponse(response, parts);
      const recorded = task.polls[questions++] ?? task.result ?? task.polls.at(-1);
      return toResponse(recorded ?? response, parts);
    },
  };
}

/** The response that has the images: that of the task, or the only one. */
export function findResult({ response, task }: RecordedExchange): RecordedResponse {
  return task?.result ?? task?.polls.at(-1) ?? response;
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
