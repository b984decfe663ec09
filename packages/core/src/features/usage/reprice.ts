import type { ChargeDerivation, ChargeLine, Price } from "../../billing/charge.js";
import type { PriceTables } from "../../billing/model-details.js";
import { type AlikeImages, chargeOutcome, listImages, type PriceBasis } from "../../billing/price-basis.js";
import { createPriceList, type PriceList } from "../../billing/pricing.js";
import type { SettledRecord, UsageRecord } from "../../billing/records.js";
import { keepCounts } from "../../billing/usage.js";
import { GatewayError } from "../../errors.js";
import { compareStrings } from "../../util/compare-strings.js";
import {
  addDecimals,
  type Decimal,
  formatDecimal,
  readDecimal,
  subtractDecimal,
  ZERO,
} from "../../util/decimal.js";
import type { CostCounts } from "./history-store.js";
import { addCosts, toCostCounts, toCostSums } from "./usage-counts.js";
import type { CostSums } from "./usage-reports.js";

/** What requests were charged, and what they would have been charged. Amounts are decimal strings. */
export interface RepricedSums {
  readonly requests: number;
  /** The charges of the records. */
  readonly charge: string;
  /** The charges under the other prices. A request that is not repriced keeps its charge here. */
  readonly newCharge: string;
  /** Of the requests whose cost is known. Absent if there are none. */
  readonly costs?: RepricedCosts;
  /**
   * How many new charges are estimates: the new price needs what the record does not say. That is tokens that the provider did
   * not report, and in records without `priceBasis` the sizes, qualities and reference images. Unknown sizes have the highest
   * price; unknown tokens and references cost nothing. All other new charges are what the gateway would have charged.
   */
  readonly estimated: number;
  /** How many requests were not repriced. */
  readonly kept: number;
  /** Why they were not repriced. */
  readonly keptBecause: {
    /** Their outcome is not known, or they reached no provider. */
    readonly outcome: number;
    /** The other prices do not name their model. */
    readonly model: number;
    /** The other prices do not name their group. */
    readonly group: number;
  };
}

/** What requests whose cost is known cost the operator, with both charges. */
export interface RepricedCosts extends CostSums {
  /** What they would have been charged. */
  readonly newCharge: string;
  /** `newCharge - cost`. */
  readonly newMargin: string;
}

/** The sums of all requests, and of each model and each caller in the order of its name. */
export interface RepricedUsage extends RepricedSums {
  readonly models: readonly (RepricedSums & { readonly model: string })[];
  readonly callers: readonly (RepricedSums & { readonly caller: string })[];
}

/** Adds up records one by one, see {@link createRepricer}. */
export interface Repricer {
  add(record: UsageRecord): void;
  /** Returns the sums of the records so far. */
  sum(): RepricedUsage;
}

/**
 * Computes what recorded usage would have cost under other prices, from the records alone. Nothing is written.
 *
 * @param records for example `gateway.usage.records({ from, to })`
 * @param prices the other prices; the same tables as the option `billing`
 * @throws RangeError when a price or a ratio is not usable
 * @example
 * ```ts
 * import { createMemoryLedger, repriceRecords } from "@calotype/core/billing";
 *
 * const ledger = createMemoryLedger();
 * const yesterday = { from: "2026-05-04T00:00:00Z", to: "2026-05-05T00:00:00Z" };
 * const { charge, newCharge, estimated } = await repriceRecords(ledger.records(yesterday), {
 *   model_details: { "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.03" } },
 * });
 * ```
 */
export async function repriceRecords(
  records: AsyncIterable<UsageRecord> | Iterable<UsageRecord>,
  prices: PriceTables,
): Promise<RepricedUsage> {
  const repricer = createRepricer(prices);
  for await (const record of records) repricer.add(record);
  return repricer.sum();
}

/**
 * As {@link repriceRecords}, for a program that reads the records itself: in pages, with progress, or up to a limit.
 *
 * @throws RangeError when a price or a ratio is not usable
 */
export function createRepricer(prices: PriceTables): Repricer {
  const list = createPriceList(prices);
  const total = createSums();
  const models = new Map<string, GrowingSums>();
  const callers = new Map<string, GrowingSums>();
  return {
    add(record) {
      const change = { ...reprice(record, list), costs: toCostCounts(record) };
      for (const sums of [total, sumsOf(models, record.model), sumsOf(callers, record.caller)]) {
        addChange(sums, change);
      }
    },
    sum: () => ({
      ...showSums(total),
      models: sortSums(models).map(([model, sums]) => ({ model, ...showSums(sums) })),
      callers: sortSums(callers).map(([caller, sums]) => ({ caller, ...showSums(sums) })),
    }),
  };
}

function sumsOf(all: Map<string, GrowingSums>, name: string): GrowingSums {
  const sums = all.get(name) ?? createSums();
  all.set(name, sums);
  return sums;
}

function sortSums(all: ReadonlyMap<string, GrowingSums>): readonly (readonly [string, GrowingSums])[] {
  return [...all].toSorted(([one], [other]) => compareStrings(one, other));
}

/** One request under other prices. */
interface Change {
  readonly charge: Decimal;
  readonly newCharge: Decimal;
  readonly isEstimated: boolean;
  /** Why the request keeps its charge. `undefined` if it was repriced. */
  readonly keptBecause: keyof RepricedSums["keptBecause"] | undefined;
}

function reprice(record: UsageRecord, list: PriceList): Change {
  const charge = readDecimal(record.charge);
  const keep = (change: Pick<Change, "isEstimated" | "keptBecause">): Change => ({
    charge,
    newCharge: charge,
    ...change,
  });
  if (record.state !== "settled") return keep({ isEstimated: false, keptBecause: "outcome" });
  const price = findPrice(list, record);
  if (typeof price === "string") return keep({ isEstimated: false, keptBecause: price });
  const { images, priceBasis, derivation } = record;
  if (priceBasis === undefined && isOfHold(derivation))
    return keep({ isEstimated: true, keptBecause: undefined });
  const { made, ...basis } = priceBasis ?? guessBasis(record);
  const usage = keepCounts(record.usage);
  const newCharge = chargeOutcome(price, { ...basis, usage, images, made: listImages(made) });
  return {
    charge,
    newCharge: readDecimal(newCharge?.amount ?? null),
    isEstimated: newCharge !== undefined && isEstimate(newCharge.derivation, record),
    keptBecause: undefined,
  };
}

/** Returns the price, or what the tables do not name. */
function findPrice(list: PriceList, { model, group }: SettledRecord): Price | "model" | "group" {
  try {
    return list.find(model, group);
  } catch (error) {
    if (error instanceof GatewayError && error.code === "model_not_priced") return "model";
    if (error instanceof GatewayError && error.code === "group_not_priced") return "group";
    throw error;
  }
}

/** True if the new charge needs what the record does not say. */
function isEstimate(
  derivation: ChargeDerivation,
  { priceBasis, upstreamRequestIds, reportedUsage }: SettledRecord,
): boolean {
  if ("unpriced" in derivation && derivation.unpriced) return true;
  if (priceBasis !== undefined) return false;
  // Records of older versions lack sizes and references. Their sums of several calls, and their reports that were cut, do not
  // have all kinds of tokens.
  return derivation.pricing_mode === "per-request"
    ? "lines" in derivation
    : upstreamRequestIds !== undefined || reportedUsage !== undefined;
}

/** True if the whole hold was charged. */
function isOfHold(derivation: ChargeDerivation | undefined): boolean {
  if (derivation === undefined) return false;
  if ("lines" in derivation) return readLines(derivation)[0]?.source === "request";
  const isPerRequest = derivation.pricing_mode === "per-request";
  return (isPerRequest ? derivation.count_source : derivation.token_source) === "request";
}

/** What the lines of a charge say, for records of older versions. */
function guessBasis({ derivation, images, usage }: SettledRecord): PriceBasis {
  const lines = readLines(derivation);
  const made = lines.flatMap(({ what, count, pixels, quality }): AlikeImages[] =>
    what === "image" || what === "layer"
      ? [
          {
            count,
            isLayer: what === "layer",
            ...(pixels !== undefined && { size: toSize(pixels) }),
            ...(quality !== undefined && { quality }),
          },
        ]
      : [],
  );
  const reported = usage?.input_images ?? usage?.input_image_count;
  const { count = reported } = lines.find(({ what }) => what === "reference_image") ?? {};
  return {
    request: { maxImages: images, referenceImages: count },
    made: made.length > 0 ? made : [{ count: images }],
  };
}

/** A size with this number of pixels. A line of a charge has only their number. */
function toSize(pixels: number): string {
  let side = Math.floor(Math.sqrt(pixels));
  while (side > 1 && pixels % side !== 0) side -= 1;
  return `${pixels / side}x${side}`;
}

function readLines(derivation: ChargeDerivation | undefined): readonly ChargeLine[] {
  if (derivation === undefined || !("lines" in derivation)) return [];
  return derivation.lines.filter((line): line is ChargeLine => line.what !== "rounding");
}

interface GrowingSums {
  requests: number;
  charge: Decimal;
  newCharge: Decimal;
  costs: CostCounts | undefined;
  /** The new charges of the requests whose cost is known. */
  newChargeOfCosts: Decimal;
  estimated: number;
  kept: number;
  keptBecause: { outcome: number; model: number; group: number };
}

function createSums(): GrowingSums {
  const keptBecause = { outcome: 0, model: 0, group: 0 };
  const costs = { costs: undefined, newChargeOfCosts: ZERO };
  return { requests: 0, charge: ZERO, newCharge: ZERO, ...costs, estimated: 0, kept: 0, keptBecause };
}

function addChange(
  sums: GrowingSums,
  { charge, newCharge, costs, isEstimated, keptBecause }: Change & { readonly costs: CostCounts | undefined },
): void {
  sums.requests += 1;
  sums.charge = addDecimals(sums.charge, charge);
  sums.newCharge = addDecimals(sums.newCharge, newCharge);
  if (costs !== undefined) {
    sums.costs = addCosts(sums.costs, costs);
    sums.newChargeOfCosts = addDecimals(sums.newChargeOfCosts, newCharge);
  }
  sums.estimated += Number(isEstimated);
  if (keptBecause === undefined) return;
  sums.kept += 1;
  sums.keptBecause[keptBecause] += 1;
}

function showSums(sums: GrowingSums): RepricedSums {
  const { charge, newCharge, costs, newChargeOfCosts, keptBecause, ...counts } = sums;
  const known = toCostSums(costs);
  return {
    ...counts,
    keptBecause: { ...keptBecause },
    charge: formatDecimal(charge),
    newCharge: formatDecimal(newCharge),
    ...(known !== undefined && {
      costs: {
        ...known,
        newCharge: formatDecimal(newChargeOfCosts),
        newMargin: formatDecimal(subtractDecimal(newChargeOfCosts, readDecimal(known.cost))),
      },
    }),
  };
}
