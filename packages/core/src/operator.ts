export type { AttemptCounts, ChannelError } from "./channels/attempt-history.js";
export type { FieldChanges } from "./channels/channel.js";
export type { ChannelStatus } from "./channels/channel-status.js";
export type { ChannelPause, ChannelState, KeyStatus, ModelStatus } from "./contract/channel-state.js";
export type { ExpiringKey, KeyFunction, KeyRequest } from "./contract/key-source.js";
export type { RefusingBudget } from "./errors.js";
export type { AlertReports, ListedAlert } from "./features/alerts/alerts-feature.js";
export type {
  BudgetReports,
  BudgetStatus,
  UserBudget,
  UserBudgetPage,
} from "./features/budgets/read-budgets.js";
export type {
  CallerPatch,
  CallerSettings,
  ChangedField,
  LimitsPatch,
} from "./features/callers/caller-settings.js";
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
} from "./features/callers/callers.js";
export { findCell } from "./features/cells/find-cell.js";
export type { ChannelControl, GatewayStatus } from "./features/channel-control/channel-control-feature.js";
export type { ChannelInfo, ChannelKeyInfo } from "./features/channel-control/channel-info.js";
export type { PauseOptions, ResumeOptions } from "./features/channel-control/pauses.js";
export type {
  ChannelProbe,
  ChannelProbeOptions,
  KeyProbe,
  ProbeEstimate,
  ProbeModel,
} from "./features/channel-probe/probe-channel.js";
export type { EstimateQuery, RequestEstimate } from "./features/estimate/estimate-feature.js";
export type { HealthCheckStatus, HealthState } from "./features/health/health-feature.js";
export type { LimitReports, LimitStatus } from "./features/limits/read-limits.js";
export type {
  AlertFilter,
  KnownAlert,
  WebhookEndpointName,
  WebhookFilter,
  WebhookMessage,
} from "./features/outbox/outbox.js";
export type { Refusal } from "./features/refusals/refusal.js";
export type { RefusalCount, RefusalList, RefusalQuery } from "./features/refusals/refusal-list.js";
export type { Refusals } from "./features/refusals/refusals.js";
export type { TaskInfo, TaskList, TaskQuery, TaskReports } from "./features/tasks/task-reports.js";
export type { RunTasksOptions, TaskBatch } from "./features/tasks/tasks-feature.js";
export type { GatewayUsage } from "./features/usage/usage-history.js";
export type { Webhooks } from "./features/webhooks/webhooks.js";
export type { OptionSource } from "./options/options.js";
