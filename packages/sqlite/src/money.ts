import { Big as SharedBig } from "big.js";

/** A constructor of our own: the settings of the shared one, such as `Big.strict`, belong to the whole app. */
const Big = SharedBig();

/** An exact amount; one below 0 is a change. */
export type Money = InstanceType<typeof Big>;

const PLAIN_DECIMAL = /^\d+(?:\.\d+)?$/;

/** The amount that a text of a hold or record means; `null`, without prices, is nothing. */
export function toMoney(text: string | null): Money {
  if (text === null) return new Big("0");
  if (!PLAIN_DECIMAL.test(text)) {
    throw new RangeError(
      `Money must be a decimal of at least 0, such as "0.04", not ${JSON.stringify(text)}`,
    );
  }
  return new Big(text);
}

/** The exact text of an amount. */
export function formatMoney(amount: Money): string {
  return amount.toFixed();
}

/** The text of a sum. */
export function addMoney(text: string, amount: Money): string {
  return formatMoney(new Big(text).plus(amount));
}
