import { remember } from "../util/remember.js";
import { normalizeDecimal } from "./decimal.js";

/** An exact amount of money: so many units, of which `10 ** places` are 1. */
export interface Amount {
  readonly units: bigint;
  readonly places: number;
}

/** Nearly all amounts have no more places than these, and so equally many: they are added as they are. */
const USUAL_PLACES = 12;

export const NOTHING: Amount = { units: 0n, places: USUAL_PLACES };

/** Of prices and counts come few amounts, again and again; reading one takes longer than adding it. */
const readText = remember((text: string): Amount => {
  const [whole = "", fraction = ""] = normalizeDecimal(text).split(".");
  const places = Math.max(USUAL_PLACES, fraction.length);
  return { units: BigInt(whole + fraction.padEnd(places, "0")), places };
});

/**
 * An amount that was calculated, and may have more places than one of the options may. `null` is 0.
 *
 * @throws Error where it is no number
 */
export function readAmount(amount: string | null): Amount {
  return amount === null ? NOTHING : readText(amount);
}

/** The exact text of an amount: no exponent, no digit lost, no zero at the end of a fraction. */
export function formatAmount({ units, places }: Amount): string {
  const digits = String(units < 0n ? -units : units).padStart(places + 1, "0");
  const fraction = digits.slice(-places).replace(/0+$/, "");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -places)}${fraction && `.${fraction}`}`;
}

export function addAmounts(one: Amount, other: Amount): Amount {
  const places = Math.max(one.places, other.places);
  return { units: unitsOf(one, places) + unitsOf(other, places), places };
}

export function subtractAmount(from: Amount, amount: Amount): Amount {
  const places = Math.max(from.places, amount.places);
  return { units: unitsOf(from, places) - unitsOf(amount, places), places };
}

export function isAtMost(amount: Amount, bound: Amount): boolean {
  const places = Math.max(amount.places, bound.places);
  return unitsOf(amount, places) <= unitsOf(bound, places);
}

/** In units of so many places, which are no fewer than its own. */
function unitsOf(amount: Amount, places: number): bigint {
  return places === amount.places ? amount.units : amount.units * 10n ** BigInt(places - amount.places);
}
