export {
  createMemoryAdmissionStore,
  type MemoryAdmissionStoreOptions,
} from "./admission/memory-store.js";
export type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  ConcurrencyLimit,
  IdempotencyOutcome,
  IdempotencyRequest,
  StoredResponse,
  WindowLimit,
  WindowState,
} from "./admission/store.js";
export {
  addDecimals,
  type Decimal,
  formatDecimal,
  isAtMost,
  multiplyDecimal,
  negateDecimal,
  readDecimal,
} from "./billing/decimal.js";
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
} from "./billing/ledger.js";
export { createMemoryLedger, type MemoryLedgerOptions } from "./billing/memory-ledger.js";
export {
  type HoldRecord,
  type LostPolicy,
  type ReleasedRecord,
  type SettledRecord,
  toReleasedRecord,
  toUnresolvedRecord,
  type UnresolvedRecord,
  type UsageRecord,
} from "./billing/records.js";
export { compareAge } from "./billing/reports.js";
export {
  checkHold,
  checkRecord,
  createTakenRecords,
  parseHold,
  parseRecord,
  reportFailures,
  type TakenRecords,
} from "./billing/stored-entries.js";
export { GatewayError } from "./errors.js";
export { consoleLogger, type Logger } from "./logger.js";
export type { ByteRange, ImageToStore, ResultStore, StoredImage, StoreImage } from "./results/store.js";
export type { AttemptRecord, Cooldown, Operation, Usage } from "./types.js";
export { toInstant } from "./util/instant.js";
export { isName } from "./util/name.js";
