import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "../wire.js";
import { useMessages } from "./messages/index.js";

/** The currencies of the amounts: one, or one for each model. */
export type Currencies = Session["currency"];

export const CurrencyContext = createContext<Currencies>(undefined);

/** The currency of a model: of its name, or of the longest series that it belongs to. */
export function findCurrency(currencies: Currencies, model: string): string | undefined {
  if (typeof currencies !== "object") return currencies;
  const row = Object.keys(currencies)
    .filter((name) => name === model || (name.endsWith("*") && model.startsWith(name.slice(0, -1))))
    .toSorted(
      (one, other) => Number(other === model) - Number(one === model) || other.length - one.length,
    )[0];
  return row === undefined ? undefined : currencies[row];
}

/** What is written beside amounts. */
export interface AmountUnits {
  /** The currency of all amounts. `undefined`: it is not known, or there are several. */
  readonly unit: string | undefined;
  /** The amounts of different models may have different currencies, so they are not added up. */
  readonly isMixed: boolean;
  /** The currency of a model, only if there are several. */
  readonly unitOf: (model: string) => string | undefined;
  /** The name of a column or figure with the unit of all amounts. */
  readonly named: (name: string) => string;
}

/** The units of the amounts of the page. */
export function useUnits(): AmountUnits {
  const currencies = useContext(CurrencyContext);
  const { usage: text } = useMessages();
  const isMixed = typeof currencies === "object";
  const unit = isMixed ? undefined : currencies;
  return {
    unit,
    isMixed,
    unitOf: (model) => (isMixed ? findCurrency(currencies, model) : undefined),
    named: (name) => (unit === undefined ? name : text.inUnit(name, unit)),
  };
}
