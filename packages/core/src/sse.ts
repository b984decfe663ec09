export type { AbandonedStream, RelayEnding } from "./responses/relay.js";
export {
  createSseReader,
  type RelayEnd,
  type RelayOptions,
  relaySse,
  type SseEvent,
  type SseReader,
} from "./responses/sse.js";
