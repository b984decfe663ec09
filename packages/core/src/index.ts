export { type GeneratedApiKey, generateApiKey, hashApiKey } from "./auth/api-key.js";
export type { Authenticate, CallerOptions } from "./auth/authenticate.js";
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
export type { CorsOptions } from "./features/cors/cors.js";
export { createMemoryAdmissionStore } from "./features/limits/memory-store.js";
export { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
export type { AfterImage, AfterImageCall, FinishedImage } from "./features/results/after-image.js";
export type { ResultsOptions } from "./features/results/results-options.js";
export type { TaskOptions } from "./features/tasks/task-options.js";
export type {
  CallerEndpoints,
  FindEndpoints,
  WebhookEndpoint,
  WebhooksOptions,
} from "./features/webhooks/webhook-options.js";
export { createGateway, type Gateway } from "./gateway.js";
export type { GatewayOptions } from "./gateway-options/options.js";
export type { CloseOptions } from "./kernel/create-gateway-kernel.js";
export { consoleLogger, type Logger } from "./logger.js";
export type { CapabilityRows, ModelOptions } from "./models/resolve-model.js";
export type { BillingOptions, IdempotencyOptions, Loadable, OptionsProblem } from "./options/options.js";
export { GatewayOptionsError } from "./options/options-error.js";
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
