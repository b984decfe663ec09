export type { BudgetPeriod, PeriodUnit } from "./billing/budget.js";
export * from "./billing/ledger.js";
export { findAbility, type LedgerAbility } from "./billing/ledger-ability.js";
export type { MemoryLedgerOptions } from "./billing/memory-ledger.js";
export { createMinimalLedger } from "./billing/minimal-ledger.js";
export {
  compareAge,
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
export {
  checkHold,
  checkRecord,
  checkUpstream,
  createTakenRecords,
  parseHold,
  parseRecord,
  reportFailures,
  type StoredHold,
  type TakenRecords,
} from "./billing/stored-entries.js";
export type { ChannelPause } from "./contract/channel-state.js";
export { GatewayError } from "./errors.js";
export {
  createAlert,
  findAlerts,
  MAX_ALERT_AGE_MS,
  type StoredAlert,
  toPeriodBalance,
  toStoredName,
} from "./features/budgets/budget-alerts.js";
export * from "./features/budgets/budget-store.js";
export * from "./features/callers/caller-store.js";
export {
  createMemoryAdmissionStore,
  type MemoryAdmissionStore,
  type MemoryAdmissionStoreOptions,
} from "./features/limits/memory-store.js";
export * from "./features/limits/store.js";
export { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
export * from "./features/outbox/outbox.js";
export * from "./features/periods/periods.js";
export type { Refusal } from "./features/refusals/refusal.js";
export type { RefusalCount, RefusalList, StoredRefusalQuery } from "./features/refusals/refusal-list.js";
export * from "./features/refusals/refusal-store.js";
export * from "./features/results/store.js";
export * from "./features/task-store/task-store.js";
export * from "./features/usage/history-store.js";
export type { ReportSource } from "./features/usage/report-source.js";
export { assertWanted } from "./features/usage/reports.js";
export * from "./features/usage/usage-counts.js";
export type { SeriesKey, UsageHistory, UsageOutcome } from "./features/usage/usage-history.js";
export * from "./features/usage/usage-reports.js";
export { createUsageHistory } from "./features/usage/usage-series.js";
export type { ClientSignal } from "./http.js";
export { consoleLogger, type Logger } from "./logger.js";
export type { AttemptRecord, Cooldown, Operation, Usage } from "./types.js";
export { compareStrings } from "./util/compare-strings.js";
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
export { readListLimit } from "./util/list-limit.js";
export { isName } from "./util/name.js";
export { checkOptionNames } from "./util/option-names.js";
