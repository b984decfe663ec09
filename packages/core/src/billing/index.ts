export type { DecimalInput } from "../types.js";
export { toInstant } from "../util/instant.js";
export {
  addDecimals,
  type Decimal,
  formatDecimal,
  isAtMost,
  multiplyDecimal,
  readDecimal,
  subtractDecimal,
} from "./decimal.js";
export type {
  Balance,
  EntryFailure,
  HoldResult,
  Ledger,
  Outbox,
  RecordFilter,
  SweepOptions,
  TotalsKey,
  UsageReports,
  UsageTotal,
} from "./ledger.js";
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
export {
  type HoldRecord,
  type LostPolicy,
  type ReleasedRecord,
  type SettledRecord,
  toReleasedRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
  type UsageRecord,
} from "./records.js";
export { compareAge, exportRecords } from "./reports.js";
export {
  checkHold,
  checkRecord,
  createTakenRecords,
  isName,
  parseHold,
  parseRecord,
  reportFailures,
  type TakenRecords,
} from "./stored-entries.js";
