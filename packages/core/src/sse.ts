export type { SseEvent, SseReader } from "./responses/event-reader.js";
export type { AbandonedStream, RelayEnding } from "./responses/relay.js";
export {
  createSseReader,
  type RelayEnd,
  type RelayOptions,
  relaySse,
} from "./responses/sse.js";
