/** Amounts as integers of the smallest unit. The sums share no code with the ledgers under test. */
const PLACES = 18;

/** `null` counts as 0. */
export function toUnits(amount: string | null): bigint {
  const [whole = "0", fraction = ""] = (amount ?? "0").split(".");
  return BigInt(whole + fraction.padEnd(PLACES, "0"));
}

/** The plain decimal without trailing zeros. */
export function fromUnits(units: bigint): string {
  const digits = units.toString().padStart(PLACES + 1, "0");
  const fraction = digits.slice(-PLACES).replace(/0+$/, "");
  return digits.slice(0, -PLACES) + (fraction === "" ? "" : `.${fraction}`);
}
