export type { HoldEndReport } from "./billing/records.js";
export type * from "./contract/telemetry.js";
export type { Gateway } from "./gateway.js";
export type * from "./http.js";
export {
  checkMounted,
  createFetch,
  type MountedHandler,
  readMountOptions,
  type WebHost,
} from "./kernel/web-host.js";
export { findOrigin } from "./request/route.js";
export type { Awaitable } from "./util/async.js";
export { type ChunkFlow, type ChunkSink, openFlow } from "./util/chunk-flow.js";
export { allowFreeing, freeChunk, isFreeable } from "./util/free-chunk.js";
export { checkOptionNames } from "./util/option-names.js";
export { type ReadableLike, toChunks } from "./util/readable-chunks.js";
export { equalsInConstantTime } from "./util/sha256.js";
