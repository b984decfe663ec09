export {
  createMemoryAdmissionStore,
  type MemoryAdmissionStoreOptions,
} from "./admission/memory-store.js";
export type { LimitStatus } from "./admission/read-limits.js";
export { type GeneratedApiKey, generateApiKey, hashApiKey } from "./auth/api-key.js";
export type { Authenticate, CallerOptions } from "./auth/authenticate.js";
export { createMemoryLedger, type MemoryLedgerOptions } from "./billing/memory-ledger.js";
export type {
  LostPolicy,
  ReleasedRecord,
  SettledRecord,
  UnresolvedRecord,
  UsageRecord,
} from "./billing/records.js";
export type { WebhookEndpointName, WebhookFilter, WebhookMessage } from "./billing/task-store.js";
export type { CallerPatch, CallerSettings, ChangedField } from "./callers/caller-settings.js";
export type {
  CallerAuditEntry,
  CallerInfo,
  CallerKey,
  CallerList,
  Callers,
  CallerWithKey,
  ChangeOptions,
  KeyOptions,
  RotateOptions,
} from "./callers/callers.js";
export type { ChannelOptions, TimeoutOptions } from "./channels/channel.js";
export type { ChannelStatus, KeyStatus, ModelStatus } from "./channels/status.js";
export {
  type ErrorCode,
  type ErrorType,
  GatewayError,
  type GatewayErrorDetails,
  isGatewayError,
} from "./errors.js";
export type { EstimateQuery, RequestEstimate } from "./estimate.js";
export type { BeforeSend, FailureEvent, RequestEvent } from "./events.js";
export type { Capabilities } from "./families/capabilities.js";
export {
  type CloseOptions,
  createGateway,
  type Gateway,
  type GatewayStatus,
  type RunTasksOptions,
  type TaskBatch,
} from "./gateway.js";
export type { HealthCheckStatus, HealthState } from "./healthz-endpoint.js";
export type { ReferenceImage } from "./images/reference-image.js";
export { consoleLogger, type Logger } from "./logger.js";
export type { CapabilityRows, ModelOptions } from "./models/resolve-model.js";
export type {
  BillingOptions,
  CorsOptions,
  GatewayOptions,
  IdempotencyOptions,
  Loadable,
  OptionsProblem,
  TaskOptions,
} from "./options/options.js";
export { GatewayOptionsError } from "./options/validate.js";
export type { BodyLimits } from "./request/read-request.js";
export type { AfterImage, AfterImageCall, FinishedImage } from "./results/after-image.js";
export type { ResultsOptions } from "./results/results.js";
export type { Telemetry } from "./telemetry.js";
export type {
  AttemptRecord,
  Caller,
  CallerLimits,
  ClientName,
  DecimalInput,
  ImageRequest,
  Operation,
  Preferences,
  ResponseFormat,
  SizeMode,
  StreamFormat,
  Usage,
} from "./types.js";
export type {
  ChannelProbe,
  ChannelProbeOptions,
  KeyProbe,
} from "./upstream/probe-channel.js";
export type { Fetch } from "./upstream/transport-fetch.js";
export type { JsonObject } from "./util/json.js";
export type { WebHost } from "./web-host.js";
export type {
  CallerEndpoints,
  FindEndpoints,
  WebhookEndpoint,
  WebhooksOptions,
} from "./webhooks/webhook-options.js";
export type { Webhooks } from "./webhooks/webhooks.js";
