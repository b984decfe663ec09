export {
  createAlert,
  createAlertListeners,
  findAlerts,
  MAX_ALERT_AGE_MS,
  type StoredAlert,
  toPeriodBalance,
  toStoredName,
} from "./billing/budget-alerts.js";
export type {
  CallerAuditLine,
  CallerAuditPage,
  CallerChange,
  CallerLedger,
  CallerLookup,
  CallerPage,
  CallerStore,
  CallerUpdate,
  StoredCaller,
  StoredKey,
} from "./billing/caller-store.js";
export type {
  Balance,
  BudgetAlert,
  BudgetLedger,
  BudgetStore,
  BudgetThreshold,
  CallerBalance,
  EntryFailure,
  HoldResult,
  KeptHold,
  Ledger,
  Outbox,
  PeriodBalance,
  PeriodFilter,
  RecordFilter,
  ReportOptions,
  SettleResult,
  SweepOptions,
  TakeKeptOptions,
  TotalsKey,
  UsageReports,
  UsageTotal,
} from "./billing/ledger.js";
export { createMemoryLedger, type MemoryLedgerOptions } from "./billing/memory-ledger.js";
export {
  type BudgetPeriod,
  findPeriod,
  findPeriodsAround,
  type PeriodSpan,
  type PeriodUnit,
  parsePeriodKey,
} from "./billing/periods.js";
export {
  type HoldRecord,
  type LostPolicy,
  type ReleasedRecord,
  type SettledRecord,
  toReleasedRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
  type UsageRecord,
  withPeriod,
} from "./billing/records.js";
export { assertWanted, compareAge, compareStrings, readListLimit, readTagKey } from "./billing/reports.js";
export {
  checkCallerUpdate,
  checkHold,
  checkRecord,
  checkStoredCallerId,
  checkTask,
  checkTaskEnd,
  checkTaskImages,
  checkUpstream,
  checkWebhookAttempt,
  createTakenRecords,
  parseHold,
  parseRecord,
  reportFailures,
  type StoredHold,
  type TakenRecords,
} from "./billing/stored-entries.js";
export type {
  NewTask,
  TakenTask,
  TakeOptions,
  Task,
  TaskChange,
  TaskEnd,
  TaskLedger,
  TaskPage,
  TaskRepeat,
  TaskRoom,
  TaskStatus,
  TaskStore,
  TaskSubmission,
  TaskSweep,
  TaskSweepOptions,
  WebhookAttempt,
  WebhookEndpointName,
  WebhookFilter,
  WebhookMessage,
  WebhookStore,
  WebhookTakeOptions,
} from "./billing/task-store.js";
export {
  addCounts,
  countRecord,
  createCounts,
  DURATION_LIMITS,
  findDuration,
  readFacts,
  type UsageFacts,
} from "./billing/usage-counts.js";
export type {
  CountsOf,
  GrowingCounts,
  HistoryLedger,
  HistoryStore,
  PageCursor,
  PageQuery,
  SeriesKey,
  SumQuery,
  TimeSpan,
  UsageCounts,
  UsageHistory,
  UsageOutcome,
} from "./billing/usage-history.js";
export { createUsageHistory } from "./billing/usage-series.js";
export { GatewayError } from "./errors.js";
export {
  createMemoryAdmissionStore,
  type MemoryAdmissionStore,
  type MemoryAdmissionStoreOptions,
} from "./features/limits/memory-store.js";
export type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  ConcurrencyLimit,
  Counts,
  CountsRequest,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
  WindowLimit,
  WindowState,
} from "./features/limits/store.js";
export type { Refusal } from "./features/refusals/refusal.js";
export {
  MAX_REFUSAL_BATCH,
  MAX_REFUSALS,
  MAX_REFUSALS_OF_CALLER,
  parseRefusal,
  type RefusalLedger,
  type RefusalStore,
} from "./features/refusals/refusal-store.js";
export type {
  ByteRange,
  ImageToStore,
  ResultStore,
  StoredImage,
  StoreImage,
} from "./features/results/store.js";
export type { ClientSignal } from "./http.js";
export { consoleLogger, type Logger } from "./logger.js";
export type { AttemptRecord, Cooldown, Operation, Usage } from "./types.js";
export {
  addDecimals,
  type Decimal,
  formatDecimal,
  isAtMost,
  multiplyDecimal,
  negateDecimal,
  readDecimal,
} from "./util/decimal.js";
export { fitsShare, type Holdings } from "./util/fair-share.js";
export { toInstant } from "./util/instant.js";
export { isName } from "./util/name.js";
export { checkOptionNames } from "./util/option-names.js";
