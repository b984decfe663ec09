export { toInstant } from "../instant.js";
export type { Awaitable } from "../promise-like.js";
export type {
  Charge,
  ChargeDerivation,
  ChargeInput,
  PerRequestDerivation,
  PerTokenDerivation,
} from "./calculate-charge.js";
export { calculateCharge } from "./calculate-charge.js";
export type { DecimalInput } from "./decimal-input.js";
export type { EstimateInput, RequestBounds } from "./estimate-charge.js";
export { estimateCharge } from "./estimate-charge.js";
export { exportRecords } from "./export-records.js";
export type {
  AsyncLedger,
  Balance,
  Hold,
  HoldResult,
  Ledger,
  LostPolicy,
  Outbox,
  RecordFilter,
  TotalsKey,
  UsageReports,
  UsageTotal,
} from "./ledger.js";
export { createMemoryLedger, type MemoryLedgerOptions } from "./memory-ledger.js";
export type { ModelDetails, PerRequestDetails, PerTokenDetails } from "./model-details.js";
export type { BillingOptions, PriceTables } from "./pricing.js";
export { toUnresolvedRecord } from "./unresolved-record.js";
export type { SettledRecord, UnresolvedRecord, UsageRecord } from "./usage-record.js";
