export { createMemoryAdmissionStore } from "./admission/memory-store.js";
export { type GeneratedApiKey, generateApiKey, hashApiKey } from "./auth/api-key.js";
export type { Authenticate, CallerOptions } from "./auth/authenticate.js";
export { createMemoryLedger } from "./billing/memory-ledger.js";
export type { ReleasedRecord, SettledRecord, UnresolvedRecord, UsageRecord } from "./billing/records.js";
export type { ChannelOptions, TimeoutOptions } from "./channels/channel.js";
export type { Telemetry } from "./contract/telemetry.js";
export {
  type ErrorCode,
  type ErrorType,
  GatewayError,
  type GatewayErrorDetails,
  isGatewayError,
} from "./errors.js";
export type { BeforeSend, FailureEvent, RequestEvent } from "./events.js";
export type { Capabilities } from "./families/capabilities.js";
export type { AfterImage, AfterImageCall, FinishedImage } from "./features/results/after-image.js";
export type { ResultsOptions } from "./features/results/results-options.js";
export type {
  CallerEndpoints,
  FindEndpoints,
  WebhookEndpoint,
  WebhooksOptions,
} from "./features/webhooks/webhook-options.js";
export { type CloseOptions, createGateway, type Gateway } from "./gateway.js";
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
export type {
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
export type { Fetch } from "./upstream/transport-fetch.js";
