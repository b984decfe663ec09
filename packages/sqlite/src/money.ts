import { Big } from "big.js";

const PLAIN_DECIMAL = /^\d+(?:\.\d+)?$/;

/** The amount that a text of a hold or record means; `null`, without prices, is nothing. */
export function toMoney(text: string | null): Big {
  if (text === null) return new Big(0);
  if (!PLAIN_DECIMAL.test(text)) {
    throw new RangeError(
      `Money must be a decimal of at least 0, such as "0.04", not ${JSON.stringify(text)}`,
    );
  }
  return new Big(text);
}

/** The exact text of an amount. */
export function formatMoney(amount: Big): string {
  return amount.toFixed();
}
