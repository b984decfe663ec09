export type { AttemptRecord, DecimalInput, Operation, Usage } from "../types.js";
export type { Balance, RecordFilter, TotalsKey, UsageReports, UsageTotal } from "./ledger.js";
export { createMemoryLedger, type MemoryLedgerOptions } from "./memory-ledger.js";
export {
  type Charge,
  type ChargeDerivation,
  type ChargeInput,
  calculateCharge,
  type EstimateInput,
  estimateCharge,
  type ModelDetails,
  type PerRequestDerivation,
  type PerRequestDetails,
  type PerTokenDerivation,
  type PerTokenDetails,
  type PriceTables,
  type RequestBounds,
} from "./pricing.js";
export type {
  LostPolicy,
  ReleasedRecord,
  SettledRecord,
  UnresolvedRecord,
  UsageRecord,
} from "./records.js";
export { exportRecords } from "./reports.js";
