import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { findCurrency } from "../currency.js";
import type { Session } from "../wire.js";
import { useMessages } from "./messages/index.js";

/** The currencies of the amounts: one, or one for each model. */
type Currencies = Session["currency"];

export const CurrencyContext = createContext<Currencies>(undefined);

/** What is written beside amounts. */
interface AmountUnits {
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

/** An amount with its currency, if it is known. */
export function withUnit(amount: string, unit: string | undefined): string {
  return unit === undefined ? amount : `${amount} ${unit}`;
}
