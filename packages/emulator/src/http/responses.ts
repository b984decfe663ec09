import { applyStreamFault } from "../faults/apply-stream-fault.js";
import type { StreamFault } from "../faults/fault.js";

export function jsonResponse(body: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
  });
}

/** Server-sent events. Each event is one string, with the blank line that ends it. */
export function eventStream(events: AsyncIterable<string>, fault: StreamFault | undefined): Response {
  return new Response(ReadableStream.from(applyStreamFault(events, fault)), {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}

/** The header `Retry-After`, if there is a value for it. */
export function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { "retry-after": String(seconds) };
}
