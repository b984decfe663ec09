export type { PauseOptions, ResumeOptions } from "./admission/pauses.js";
export type { LimitReports } from "./admission/read-limits.js";
export type { HoldEndReport } from "./billing/records.js";
export type { LimitsPatch } from "./callers/caller-settings.js";
export type { AttemptCounts, ChannelError } from "./channels/attempt-history.js";
export type { ChannelPause } from "./channels/paused.js";
export type { ChannelState } from "./channels/status.js";
export type { Gateway } from "./gateway.js";
export type {
  ClientSignal,
  GatewayRequest,
  GatewayResponse,
  GatewayResponseBody,
  HeaderReader,
} from "./http.js";
export type {
  AttemptDetail,
  AttemptObserver,
  CallObserver,
  CooldownChange,
  ObservedResponse,
  SkippedRoute,
  StartedAttempt,
  StartedCall,
  Telemetry,
} from "./telemetry.js";
export type { ProbeEstimate, ProbeModel } from "./upstream/probe-channel.js";
export { allowFreeing, freeChunk, isFreeable } from "./util/free-chunk.js";
export { type ReadableLike, toChunks } from "./util/readable-chunks.js";
export { createFetch, type MountedHandler, type WebHost } from "./web-host.js";
