export type { SseEvent, SseReader } from "./response/read-sse.js";
export { createSseReader } from "./response/read-sse.js";
export type { AbandonedStream, RelayEnding } from "./response/relay.js";
export type { RelayEnd, RelayOptions } from "./response/relay-sse.js";
export { relaySse } from "./response/relay-sse.js";
