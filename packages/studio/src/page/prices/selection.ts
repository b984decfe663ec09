import { addressOf, go } from "../router.js";
import { toPeriod } from "../usage/period.js";

export const REPRICE_PERIODS = ["yesterday", "7d", "custom"] as const;
type RepricePeriod = (typeof REPRICE_PERIODS)[number];

/** What the address of the view says. */
export interface PriceSelection {
  /** The model of the calculator. */
  readonly model: string | undefined;
  readonly period: RepricePeriod;
  /** Of a period of one's own, in the form of `datetime-local`. */
  readonly from: string;
  readonly to: string;
}

export function readPriceSelection(query: URLSearchParams): PriceSelection {
  return {
    model: query.get("model") ?? undefined,
    period: REPRICE_PERIODS.find((name) => name === query.get("period")) ?? "yesterday",
    from: query.get("from") ?? "",
    to: query.get("to") ?? "",
  };
}

/** Replaces the address, because each field of a form is not a step of its own in the history. */
export function goToPrices({ model, period, from, to }: PriceSelection): void {
  const custom = period === "custom" ? { from, to } : {};
  const query = { model, period: period === "yesterday" ? undefined : period, ...custom };
  go(addressOf("prices", query), { replace: true });
}

/** The times of a period in the person's time zone, those of Usage. `undefined` if they are not complete. */
export function toRange(
  { period, from, to }: PriceSelection,
  now: number,
): { readonly from: string; readonly to: string } | undefined {
  if (period === "custom") {
    const [start, end] = [new Date(from), new Date(to)];
    if (Number.isNaN(start.getTime()) || Number.isNaN(end.getTime()) || start >= end) return undefined;
    return { from: start.toISOString(), to: end.toISOString() };
  }
  return toPeriod(period, now);
}
