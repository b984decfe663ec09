import type { Charge, Price, RequestBounds } from "../../billing/charge.js";
import type { ModelDetails } from "../../billing/model-details.js";
import type {
  CallCost,
  ChannelCosts,
  CostLine,
  EndedCall,
  Outcome,
  RecordedCosts,
} from "../../billing/outcome.js";
import { chargeOutcome } from "../../billing/price-basis.js";
import { restorePrice } from "../../billing/pricing.js";
import { keepCounts, keepMade } from "../../billing/usage.js";
import { addDecimals, type Decimal, formatDecimal, readDecimal, ZERO } from "../../util/decimal.js";
import { createSeriesMap, type SeriesMap } from "../../util/series.js";

/** The costs of a channel that has prices. */
export function createPricedCosts(costs: Readonly<Record<string, ModelDetails>>): ChannelCosts {
  const prices: SeriesMap<Price> = createSeriesMap(
    Object.fromEntries(
      Object.entries(costs).map(([name, details]) => [name, restorePrice({ details, group_ratio: "1" })]),
    ),
  );
  const findPrice = (model: string): Price | undefined => prices.find(model)?.value;
  return {
    sum: sumCosts,
    find: (model, call) => computeCost(findPrice(model), call),
    estimate: (model, bounds) => estimate(findPrice(model), bounds),
  };
}

/** The costs of a channel whose provider reports them. */
export const REPORTED_COSTS: ChannelCosts = {
  sum: sumCosts,
  find: (_model, { outcome }) => readCost(outcome),
  estimate: () => undefined,
};

function estimate(price: Price | undefined, bounds: RequestBounds): Decimal | undefined {
  const charge = price?.estimate(bounds);
  return charge && readDecimal(charge.amount);
}

/** The cost of a request is known if that of each of its upstream calls is. */
function sumCosts(model: string, calls: readonly EndedCall[]): RecordedCosts {
  const costLines = calls.flatMap((call, index): CostLine[] => {
    const { sentTo } = call;
    const at = calls.length === 1 ? {} : { call: sentTo.attempts[0]?.call ?? index };
    const cost = sentTo.costs?.find(model, call) ?? NO_COSTS;
    const line: CostLine = { ...at, channel: sentTo.channel, ...cost };
    return sentTo.isRepeated === true ? [{ ...at, unknownBecause: "earlier_attempt" }, line] : [line];
  });
  let sum = ZERO;
  for (const { amount } of costLines) {
    if (amount === undefined) return { costLines };
    sum = addDecimals(sum, readDecimal(amount));
  }
  return { cost: formatDecimal(sum), costLines };
}

const NO_COSTS: CallCost = { unknownBecause: "no_costs" };
const NOT_REPORTED: CallCost = { unknownBecause: "not_reported" };
const UNKNOWN_OUTCOME: CallCost = { unknownBecause: "unknown_outcome" };
const NOTHING_MADE: CallCost = { amount: "0" };

/** What the prices say of a call. The provider's report is not cut: the provider charges what it reports. */
function computeCost(price: Price | undefined, { outcome, bounds }: EndedCall): CallCost {
  if (price === undefined) return NO_COSTS;
  if (!isConclusive(outcome)) return UNKNOWN_OUTCOME;
  const usage = keepCounts(outcome.usage);
  const made = keepMade(outcome.made);
  const images = countMade(outcome);
  const charge = chargeOutcome(price, { usage, images, made, request: bounds });
  if (charge === undefined) return NOTHING_MADE;
  if (lacksTokens(charge, outcome)) return NOT_REPORTED;
  return { amount: charge.amount, derivation: charge.derivation };
}

/** What the provider says of a call. It may say so although it is not known what was made. */
function readCost(outcome: Outcome): CallCost {
  const usage = keepCounts(outcome.usage);
  const amount = usage?.cost_usd;
  if (amount !== undefined) return { amount: formatDecimal(readDecimal(amount)), isReported: true };
  if (!isConclusive(outcome)) return UNKNOWN_OUTCOME;
  return countMade(outcome) > 0 || usage !== undefined ? NOT_REPORTED : NOTHING_MADE;
}

/** Images that were made, also those that the client does not get. */
const countMade = ({ images, made = [] }: Outcome): number => Math.max(images, made.length);

const isConclusive = ({ isConclusive: isRead = false, isUnknown = false }: Outcome): boolean =>
  isRead && !isUnknown;

/** True if tokens have a price and some of them were not reported. */
function lacksTokens({ derivation }: Charge, { hasUnknownTokens = false }: Outcome): boolean {
  return derivation.pricing_mode === "per-token" && (derivation.unpriced === true || hasUnknownTokens);
}
