export { toInstant } from "../util/instant.js";
export type { Awaitable } from "../util/promise-like.js";
export type {
  Charge,
  ChargeDerivation,
  ChargeInput,
  PerRequestDerivation,
  PerTokenDerivation,
} from "./calculate-charge.js";
export { calculateCharge } from "./calculate-charge.js";
export { checkHold, checkRecord, isName } from "./check-entry.js";
export { compareAge } from "./compare-text.js";
export type { DecimalInput } from "./decimal-input.js";
export type { EstimateInput, RequestBounds } from "./estimate-charge.js";
export { estimateCharge } from "./estimate-charge.js";
export { exportRecords } from "./export-records.js";
export type {
  AsyncLedger,
  Balance,
  EntryFailure,
  HoldRecord,
  HoldResult,
  Ledger,
  LostPolicy,
  Outbox,
  RecordFilter,
  SweepOptions,
  TotalsKey,
  UsageReports,
  UsageTotal,
} from "./ledger.js";
export { createMemoryLedger, type MemoryLedgerOptions } from "./memory-ledger.js";
export type { ModelDetails, PerRequestDetails, PerTokenDetails } from "./model-details.js";
export type { BillingOptions, PriceTables } from "./pricing.js";
export { parseHold, parseRecord } from "./stored-entries.js";
export { reportFailures, toReleasedRecord, toUnresolvedRecord } from "./unresolved-record.js";
export type { ReleasedRecord, SettledRecord, UnresolvedRecord, UsageRecord } from "./usage-record.js";
