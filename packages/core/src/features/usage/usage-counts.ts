import type { UsageRecord } from "../../billing/records.js";
import {
  addDecimals,
  formatDecimal,
  negateDecimal,
  readDecimal,
  subtractDecimal,
  ZERO,
} from "../../util/decimal.js";
import type { CostCounts, GrowingCounts, UsageCounts } from "./history-store.js";
import type { UsageOutcome } from "./usage-history.js";
import type { CostSums } from "./usage-reports.js";

/** What totals count of a record, besides the columns that every ledger has. */
export interface UsageFacts {
  readonly outcome: UsageOutcome;
  /** Whole milliseconds; `null` without a known outcome. */
  readonly durationMs: number | null;
  readonly tokens: number;
}

/**
 * The limits of the histogram of durations, in milliseconds: doubling below a second, then 1.26 times the one before, up to
 * 512 seconds. A duration counts at the index that is the number of limits that are not above it, so there is one count more
 * than limits. Never change them: ledgers keep the counts.
 */
export const DURATION_LIMITS: readonly number[] = [
  31,
  63,
  125,
  250,
  500,
  ...Array.from({ length: 28 }, (_, at) => Math.round(1000 * 2 ** (at / 3))),
];

/** The longest duration that is kept, about 24 days: databases keep it in 32 bits. */
const MAX_DURATION_MS = 2 ** 31 - 1;

/** Reads the facts of a record. A record of an older version may lack fields. */
export function readFacts(record: UsageRecord): UsageFacts {
  if (record.state !== "settled") return { outcome: record.state, durationMs: null, tokens: 0 };
  const { status, errorCode, durationMs, usage } = record;
  const isRefused = status >= 400 && status < 500;
  const hasFailed = errorCode !== undefined || status >= 500;
  return {
    outcome: isRefused ? "refused" : hasFailed ? "failed" : "succeeded",
    durationMs: Math.min(toCount(durationMs), MAX_DURATION_MS),
    tokens: toCount(usage?.total_tokens ?? usage?.output_tokens),
  };
}

const NO_DURATIONS: readonly number[] = Array.from({ length: DURATION_LIMITS.length + 1 }, () => 0);

/** Returns counts of no requests. */
export function createCounts(): GrowingCounts {
  return {
    requests: 0,
    refused: 0,
    failed: 0,
    unresolved: 0,
    released: 0,
    images: 0,
    tokens: 0,
    durationMs: 0,
    durations: [...NO_DURATIONS],
    charge: readDecimal(null),
  };
}

const NAMES = [
  "requests",
  "refused",
  "failed",
  "unresolved",
  "released",
  "images",
  "tokens",
  "durationMs",
] as const;

/** Adds a record to counts; with the sign -1 it is taken back. */
export function countRecord(
  counts: GrowingCounts,
  { images, charge, cost }: Pick<UsageRecord, "images" | "charge"> & RecordedCost,
  { outcome, durationMs, tokens }: UsageFacts,
  sign: 1 | -1 = 1,
): void {
  const amount = readDecimal(charge);
  counts.requests += sign;
  counts.images += sign * images;
  counts.tokens += sign * tokens;
  counts.charge = addDecimals(counts.charge, sign === 1 ? amount : negateDecimal(amount));
  const costs = toCostCounts({ charge, cost }, sign);
  if (costs !== undefined) counts.costs = addCosts(counts.costs, costs);
  if (outcome !== "succeeded") {
    counts[outcome] += sign;
    return;
  }
  const duration = durationMs ?? 0;
  const at = findDuration(duration);
  counts.durationMs += sign * duration;
  counts.durations[at] = (counts.durations[at] ?? 0) + sign;
}

/** Adds counts to others. */
export function addCounts(to: GrowingCounts, counts: UsageCounts): void {
  for (const name of NAMES) to[name] += counts[name];
  for (const [at, count] of counts.durations.entries()) {
    if (count !== 0) to.durations[at] = (to.durations[at] ?? 0) + count;
  }
  to.charge = addDecimals(to.charge, counts.charge);
  if (counts.costs !== undefined) to.costs = addCosts(to.costs, counts.costs);
}

/** What a record says of its cost. */
interface RecordedCost {
  readonly cost?: string | null | undefined;
}

/** Counts the cost of a record; with the sign -1 it is taken back. `undefined`: the cost is not known. */
export function toCostCounts(
  { charge, cost }: Pick<UsageRecord, "charge"> & RecordedCost,
  sign: 1 | -1 = 1,
): CostCounts | undefined {
  if (cost === undefined || cost === null) return undefined;
  const [charged, paid] = [readDecimal(charge), readDecimal(cost)];
  return sign === 1
    ? { requests: 1, charge: charged, cost: paid }
    : { requests: -1, charge: negateDecimal(charged), cost: negateDecimal(paid) };
}

/** Returns the sum of both. */
export function addCosts(one: CostCounts | undefined, other: CostCounts): CostCounts {
  if (one === undefined) return other;
  return {
    requests: one.requests + other.requests,
    charge: addDecimals(one.charge, other.charge),
    cost: addDecimals(one.cost, other.cost),
  };
}

/** Returns the costs as reports show them. `undefined` if no cost is known. */
export function toCostSums({ requests, charge, cost }: CostCounts = NO_COSTS): CostSums | undefined {
  if (requests === 0) return undefined;
  const margin = formatDecimal(subtractDecimal(charge, cost));
  return { requests, charge: formatDecimal(charge), cost: formatDecimal(cost), margin };
}

const NO_COSTS: CostCounts = { requests: 0, charge: ZERO, cost: ZERO };

/** The index of the count of a duration. */
export function findDuration(durationMs: number): number {
  const at = DURATION_LIMITS.findIndex((limit) => limit > durationMs);
  return at < 0 ? DURATION_LIMITS.length : at;
}

function toCount(value: unknown): number {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? Math.round(value) : 0;
}
