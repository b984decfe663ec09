import type { Session } from "./wire.js";

/** The currency of a model: of its name, or of the longest series that it belongs to. Runs in the page and in its server. */
export function findCurrency(currencies: Session["currency"], model: string): string | undefined {
  if (typeof currencies !== "object") return currencies;
  if (Object.hasOwn(currencies, model)) return currencies[model];
  const series = Object.keys(currencies)
    .filter((name) => name.endsWith("*") && model.startsWith(name.slice(0, -1)))
    .toSorted((one, other) => other.length - one.length);
  return series[0] === undefined ? undefined : currencies[series[0]];
}
