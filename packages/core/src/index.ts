export type { Cooldown } from "./image-request.js";
export type { AdmissionDecision, AdmissionStore, AdmissionTicket, AsyncAdmissionStore, ConcurrencyLimit, IdempotencyClaim, IdempotencyEnding, StoredResponse, WindowLimit, WindowState } from "./admission/admission-store.js";
export type { CallerLimits } from "./image-request.js";
export {
  createMemoryAdmissionStore,
  type MemoryAdmissionStoreOptions,
} from "./admission/memory-admission-store.js";
export type { ResponseShape } from "./answer-shape.js";
export type * from "./billing/index.js";
export {
  calculateCharge,
  createMemoryLedger,
  estimateCharge,
  exportRecords,
  toUnresolvedRecord,
} from "./billing/index.js";
export { type ChunkOptions, type ReadableLike, toChunks } from "./bytes/readable-chunks.js";
export type { ChannelProbe } from "./channel-test/test-channel.js";
export type { KeyProbe } from "./channel-test/test-key.js";
export type { ChannelProbeOptions } from "./channel-test/test-request.js";
export { createGateway } from "./create-gateway.js";
export type { Dependencies } from "./dependencies.js";
export {
  type ErrorCode,
  type ErrorType,
  GatewayError,
  type GatewayErrorDetails,
  isGatewayError,
} from "./errors.js";
export type { GatewayRequest, GatewayResponse, GatewayResponseBody, HeaderReader } from "./exchange.js";
export type {
  Family,
  NormalizeContext,
  StreamReader,
  StreamResult,
} from "./families/family.js";
export type { ModelLimits } from "./families/model-limits.js";
export type { CloseOptions, Gateway, GatewayStatus } from "./gateway.js";
export type { BeforeSend, FailureEvent, RequestEvent } from "./hooks.js";
export type {
  AttemptRecord,
  Caller,
  FailureReason,
  ImageRequest,
  ImageResult,
  Operation,
  ResponseFormat,
  ResultError,
  ResultImage,
  Usage,
} from "./image-request.js";
export type { JsonObject } from "./json.js";
export { consoleLogger, type Logger } from "./logger.js";
export { GatewayOptionsError } from "./options/check-options.js";
export type { Loadable } from "./options/loadable.js";
export type { GatewayOptions, IdempotencyOptions } from "./options/options.js";
export type { OptionsProblem } from "./options/options-problem.js";
export { type Authenticate, type CallerOptions, hashApiKey } from "./request/authenticate.js";
export { type GeneratedApiKey, generateApiKey } from "./request/generate-api-key.js";
export type { SizeLimits } from "./request/image-size.js";
export type { BodyLimits } from "./request/read-fields.js";
export type { ChannelOptions } from "./routing/channel.js";
export type { ChannelStatus, KeyStatus, ModelStatus } from "./routing/channel-status.js";
export type { ModelOptions } from "./routing/resolve-model.js";
export type { RetryBudgetPolicy } from "./routing/retry-budget.js";
export type { ReferenceImage, UploadedImage } from "./uploaded-image.js";
export type { Fetch } from "./upstream/fetch-transport.js";
export type { Timeouts, Transport, TransportRequest, TransportResponse } from "./upstream/transport.js";
export { TransportError } from "./upstream/transport.js";
export type { ProducedBody, UpstreamCall } from "./upstream-call.js";
export type { FailureScope, UpstreamFailure, UpstreamFailureKind } from "./upstream-failure.js";
