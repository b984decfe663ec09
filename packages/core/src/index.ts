export {
  createMemoryAdmissionStore,
  type MemoryAdmissionStoreOptions,
} from "./admission/memory-store.js";
export type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  ConcurrencyLimit,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
  WindowLimit,
  WindowState,
} from "./admission/store.js";
export type { Dependencies } from "./assemble.js";
export { type GeneratedApiKey, generateApiKey, hashApiKey } from "./auth/api-key.js";
export type { Authenticate, CallerOptions } from "./auth/authenticate.js";
export type * from "./billing/index.js";
export { calculateCharge, createMemoryLedger, estimateCharge, exportRecords } from "./billing/index.js";
export type { ChannelOptions, Timeouts } from "./channels/channel.js";
export type { RetryBudgetPolicy } from "./channels/retry-budget.js";
export type { ChannelStatus, KeyStatus, ModelStatus } from "./channels/status.js";
export {
  type ErrorCode,
  type ErrorType,
  GatewayError,
  type GatewayErrorDetails,
  isGatewayError,
} from "./errors.js";
export type { BeforeSend, FailureEvent, RequestEvent } from "./events.js";
export type {
  Capabilities,
  FailureScope,
  Family,
  NormalizeContext,
  ResponseShape,
  StreamReader,
  StreamResult,
  UpstreamCall,
  UpstreamFailure,
  UpstreamFailureKind,
} from "./families/family.js";
export type { CloseOptions, Gateway, GatewayStatus } from "./gateway.js";
export { createGateway } from "./gateway.js";
export type { GatewayRequest, GatewayResponse, GatewayResponseBody, HeaderReader } from "./http.js";
export type { ProducedBody } from "./images/json-body.js";
export type { ReferenceImage, UploadedImage } from "./images/reference-image.js";
export type { SizeLimits } from "./images/size.js";
export { consoleLogger, type Logger } from "./logger.js";
export type { ModelOptions } from "./models/resolve-model.js";
export type {
  BillingOptions,
  GatewayOptions,
  IdempotencyOptions,
  Loadable,
  OptionsProblem,
} from "./options/options.js";
export { GatewayOptionsError } from "./options/validate.js";
export type { BodyLimits } from "./request/read-request.js";
export type {
  AttemptRecord,
  Caller,
  CallerLimits,
  Cooldown,
  FailureReason,
  ImageRequest,
  ImageResult,
  Operation,
  ResponseFormat,
  ResultError,
  ResultImage,
  Usage,
} from "./types.js";
export type { ChannelProbe, ChannelProbeOptions, KeyProbe } from "./upstream/probe-channel.js";
export type { Transport, TransportRequest, TransportResponse } from "./upstream/transport.js";
export { TransportError } from "./upstream/transport.js";
export type { Fetch } from "./upstream/transport-fetch.js";
export { allowFreeing, freeChunk, isFreeable } from "./util/free-chunk.js";
export type { JsonObject } from "./util/json.js";
export { type ReadableLike, toChunks } from "./util/readable-chunks.js";
