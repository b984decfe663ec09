export type { PauseOptions, ResumeOptions } from "./admission/pauses.js";
export type { LimitReports, LimitStatus } from "./admission/read-limits.js";
export type { BudgetReports, BudgetStatus } from "./billing/read-budgets.js";
export type { WebhookEndpointName, WebhookFilter, WebhookMessage } from "./billing/task-store.js";
export type { GatewayUsage } from "./billing/usage-history.js";
export type {
  CallerPatch,
  CallerSettings,
  ChangedField,
  LimitsPatch,
} from "./callers/caller-settings.js";
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
export type { ChannelControl, GatewayStatus } from "./channel-control.js";
export type { AttemptCounts, ChannelError } from "./channels/attempt-history.js";
export type { ChannelPause } from "./channels/paused.js";
export type { ChannelState, ChannelStatus, KeyStatus, ModelStatus } from "./channels/status.js";
export type { EstimateQuery, RequestEstimate } from "./estimate.js";
export type {
  ChannelProbe,
  ChannelProbeOptions,
  KeyProbe,
  ProbeEstimate,
  ProbeModel,
} from "./features/channel-probe/probe-channel.js";
export type { Refusal } from "./features/refusals/refusal.js";
export type { Refusals } from "./features/refusals/refusals.js";
export type { RunTasksOptions, TaskBatch } from "./gateway.js";
export type { HealthCheckStatus, HealthState } from "./healthz-endpoint.js";
export type { OptionSource } from "./options/options.js";
export type { Webhooks } from "./webhooks/webhooks.js";
