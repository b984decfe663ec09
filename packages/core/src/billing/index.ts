export type { AttemptRecord, DecimalInput, MadeImage, Operation, Usage } from "../types.js";
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
export type { Balance, RecordFilter, TotalsKey, UsageReports, UsageTotal } from "./ledger.js";
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
export { type ChargeInput, calculateCharge, type EstimateInput, estimateCharge } from "./pricing.js";
export type {
  LostPolicy,
  ReleasedRecord,
  SettledRecord,
  UnresolvedRecord,
  UsageRecord,
} from "./records.js";
export { exportRecords } from "./reports.js";
