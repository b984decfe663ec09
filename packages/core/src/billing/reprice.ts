import { GatewayError } from "../errors.js";
import type { MadeImage, Usage } from "../types.js";
import { addDecimals, type Decimal, formatDecimal, readDecimal, ZERO } from "../util/decimal.js";
import type { ChargeDerivation, ChargeLine, ChargeReport } from "./charge.js";
import { isPerImage, type ModelDetails, type PerImageDetails, type PriceTables } from "./model-details.js";
import { createPriceList, type PriceList } from "./pricing.js";
import type { SettledRecord, UsageRecord } from "./records.js";
import { compareStrings } from "./reports.js";
import { keepCounts } from "./usage.js";

/** What requests were charged, and what they would have been charged. Amounts are decimal strings. */
export interface RepricedSums {
  readonly requests: number;
  /** The charges of the records. */
  readonly charge: string;
  /** The charges under the other prices. A request that is not repriced keeps its charge here. */
  readonly newCharge: string;
  /**
   * How many new charges are estimates: the new price depends on the size, the quality, reference images or tokens, and the
   * record does not say them for each image. Unknown sizes have the highest price; unknown tokens and references cost nothing.
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
 * Computes what recorded usage would have cost under other prices, from the records alone: what the providers reported, and
 * the images in the lines of the charges. Nothing is written.
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
      const change = reprice(record, list);
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
  const keep = (keptBecause: Change["keptBecause"]): Change => ({
    charge,
    newCharge: charge,
    isEstimated: false,
    keptBecause,
  });
  if (record.state !== "settled") return keep("outcome");
  const details = findDetails(list, record);
  if (typeof details === "string") return keep(details);
  const usage = keepCounts(record.usage) ?? toUsage(record.derivation);
  // As with the first charge: nothing was made and nothing was reported.
  if (record.images === 0 && usage === undefined && readLines(record.derivation).length === 0) {
    return { charge, newCharge: ZERO, isEstimated: false, keptBecause: undefined };
  }
  const report = toReport(record, usage);
  const { amount, derivation } = list.find(record.model, record.group).charge(report);
  const lacksTokens = "unpriced" in derivation && (derivation.unpriced ?? false);
  const isEstimated = lacksTokens || (isPerImage(details) && isEstimate(details, report, record.derivation));
  return { charge, newCharge: readDecimal(amount), isEstimated, keptBecause: undefined };
}

/** Returns the price, or what the tables do not name. */
function findDetails(list: PriceList, { model, group }: SettledRecord): ModelDetails | "model" | "group" {
  try {
    return list.findTerms(model, group).details;
  } catch (error) {
    if (error instanceof GatewayError && error.code === "model_not_priced") return "model";
    if (error instanceof GatewayError && error.code === "group_not_priced") return "group";
    throw error;
  }
}

/** What a charge counted, if the provider reported nothing: the whole hold was charged, or one image. */
function toUsage(derivation: ChargeDerivation | undefined): Usage | undefined {
  if (derivation === undefined) return undefined;
  if ("lines" in derivation) return countLines(readLines(derivation));
  if (derivation.pricing_mode === "per-request") return { generated_images: derivation.count };
  const { output_tokens, other_tokens } = derivation;
  return { output_tokens, total_tokens: output_tokens + other_tokens };
}

function countLines(lines: readonly ChargeLine[]): Usage | undefined {
  const sum = (isCounted: (what: ChargeLine["what"]) => boolean): number =>
    lines.filter(({ what }) => isCounted(what)).reduce((total, { count }) => total + count, 0);
  const images = sum((what) => what === "image" || what === "layer");
  if (images > 0) return { generated_images: images };
  const tokens = lines.filter(({ what }) => what.endsWith("_tokens"));
  if (tokens.length === 0) return undefined;
  return {
    ...Object.fromEntries(tokens.map(({ what, count }) => [what, count])),
    output_tokens: sum((what) => what.startsWith("output_")),
    total_tokens: sum((what) => what.endsWith("_tokens")),
  };
}

function toReport(record: SettledRecord, usage: Usage | undefined): ChargeReport {
  const lines = readLines(record.derivation);
  const images = lines.flatMap(({ what, count, pixels, quality }): MadeImage[] =>
    what === "image" || what === "layer"
      ? Array.from({ length: count }, () => ({
          ...(pixels !== undefined && { size: toSize(pixels) }),
          ...(quality !== undefined && { quality }),
          ...(what === "layer" && { isLayer: true }),
        }))
      : [],
  );
  const unknown = Array.from({ length: record.images }, () => ({}));
  const references = lines.find(({ what }) => what === "reference_image");
  const reported = usage?.input_images ?? usage?.input_image_count;
  return {
    usage,
    images: images.length > 0 ? images : unknown,
    request: { referenceImages: references?.count ?? reported },
  };
}

/** Whether a price by dimension needs what a report does not say. */
function isEstimate(
  details: PerImageDetails,
  { images = [], request }: ChargeReport,
  derivation: ChargeDerivation | undefined,
): boolean {
  const { image_prices, layer_price, reference_image_price, free_reference_images } = details;
  const hasTiers = image_prices.length > 1 || Array.isArray(layer_price);
  const hasQualities = image_prices.some(({ quality }) => quality !== undefined);
  return (
    (hasTiers && images.some(({ size }) => size === undefined)) ||
    (hasQualities && images.some(({ quality }) => quality === undefined)) ||
    // The line of a charge has only the references that were not free, those of each call.
    (reference_image_price !== undefined &&
      (request?.referenceImages === undefined ||
        free_reference_images !== undefined ||
        readLines(derivation).some(({ what }) => what === "reference_image")))
  );
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
  estimated: number;
  kept: number;
  keptBecause: { outcome: number; model: number; group: number };
}

function createSums(): GrowingSums {
  const keptBecause = { outcome: 0, model: 0, group: 0 };
  return { requests: 0, charge: ZERO, newCharge: ZERO, estimated: 0, kept: 0, keptBecause };
}

function addChange(sums: GrowingSums, { charge, newCharge, isEstimated, keptBecause }: Change): void {
  sums.requests += 1;
  sums.charge = addDecimals(sums.charge, charge);
  sums.newCharge = addDecimals(sums.newCharge, newCharge);
  sums.estimated += Number(isEstimated);
  if (keptBecause === undefined) return;
  sums.kept += 1;
  sums.keptBecause[keptBecause] += 1;
}

function showSums({ charge, newCharge, keptBecause, ...counts }: GrowingSums): RepricedSums {
  return {
    ...counts,
    keptBecause: { ...keptBecause },
    charge: formatDecimal(charge),
    newCharge: formatDecimal(newCharge),
  };
}
