export type { AbandonedStream, RelayEnding } from "./response/relay.js";
export {
  createSseReader,
  type RelayEnd,
  type RelayOptions,
  relaySse,
  type SseEvent,
  type SseReader,
} from "./responses/sse.js";
