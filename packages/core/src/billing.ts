export type { BudgetPeriod, PeriodUnit } from "./billing/budget.js";
export type {
  Charge,
  ChargeDerivation,
  ChargeLine,
  ItemizedDerivation,
  PerRequestDerivation,
  PerTokenDerivation,
  RequestBounds,
  RoundingLine,
  TokenKind,
} from "./billing/charge.js";
export type { Balance } from "./billing/ledger.js";
export type { MemoryLedgerOptions } from "./billing/memory-ledger.js";
export type {
  ImagePrice,
  ModelDetails,
  PerImageDetails,
  PerRequestDetails,
  PerTokenDetails,
  PriceTables,
  PriceTier,
} from "./billing/model-details.js";
export type { CallCost, CostLine, RecordedCosts } from "./billing/outcome.js";
export type { AlikeImages, PriceBasis } from "./billing/price-basis.js";
export { type ChargeInput, calculateCharge, type EstimateInput, estimateCharge } from "./billing/pricing.js";
export type {
  LostPolicy,
  ReleasedRecord,
  SettledRecord,
  UnresolvedRecord,
  UsageRecord,
} from "./billing/records.js";
export type {
  BudgetAlert,
  BudgetThreshold,
  PeriodBalance,
  PeriodFilter,
} from "./features/budgets/budget-store.js";
export type {
  BudgetReports,
  BudgetStatus,
  UserBudget,
  UserBudgetPage,
} from "./features/budgets/read-budgets.js";
export { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
export { findPeriod, type PeriodSpan } from "./features/periods/periods.js";
export type { HistoryLedger } from "./features/usage/history-store.js";
export { exportRecords } from "./features/usage/reports.js";
export * from "./features/usage/reprice.js";
export type * from "./features/usage/usage-history.js";
export type {
  CostSums,
  RecordFilter,
  ReportOptions,
  TotalsKey,
  UsageReports,
  UsageTotal,
} from "./features/usage/usage-reports.js";
export type {
  AttemptRecord,
  DecimalInput,
  ImageMark,
  MadeImage,
  Operation,
  PeriodicBudget,
  Usage,
} from "./types.js";
