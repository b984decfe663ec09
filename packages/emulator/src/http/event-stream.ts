import { spoilEvents } from "../faults/spoil-events.js";
import type { StreamFault } from "../faults/stream-fault.js";

/** Server-sent events, each a text of its own with the blank line that ends it. */
export function eventStream(events: AsyncIterable<string>, fault: StreamFault | undefined): Response {
  return new Response(ReadableStream.from(spoilEvents(events, fault)), {
    headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}
