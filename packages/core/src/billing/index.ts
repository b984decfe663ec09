export type { AttemptRecord, DecimalInput, MadeImage, Operation, PeriodicBudget, Usage } from "../types.js";
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
} from "./charge.js";
export type {
  Balance,
  BudgetAlert,
  BudgetThreshold,
  PeriodBalance,
  PeriodFilter,
  RecordFilter,
  ReportOptions,
  TotalsKey,
  UsageReports,
  UsageTotal,
} from "./ledger.js";
export { createMemoryLedger, type MemoryLedgerOptions } from "./memory-ledger.js";
export type {
  ImagePrice,
  ModelDetails,
  PerImageDetails,
  PerRequestDetails,
  PerTokenDetails,
  PriceTables,
  PriceTier,
} from "./model-details.js";
export { type BudgetPeriod, findPeriod, type PeriodSpan, type PeriodUnit } from "./periods.js";
export type { AlikeImages, PriceBasis } from "./price-basis.js";
export { type ChargeInput, calculateCharge, type EstimateInput, estimateCharge } from "./pricing.js";
export type { BudgetReports, BudgetStatus } from "./read-budgets.js";
export type {
  LostPolicy,
  ReleasedRecord,
  SettledRecord,
  UnresolvedRecord,
  UsageRecord,
} from "./records.js";
export { exportRecords } from "./reports.js";
export {
  createRepricer,
  type RepricedSums,
  type RepricedUsage,
  type Repricer,
  repriceRecords,
} from "./reprice.js";
export type {
  GatewayUsage,
  HistoryLedger,
  RecordPage,
  RecordQuery,
  SeriesKey,
  SeriesQuery,
  UsageHistory,
  UsageLine,
  UsageOutcome,
  UsageSeries,
  UsageSums,
} from "./usage-history.js";
