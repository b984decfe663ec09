/** An exact amount of at least 0: `units / 10 ** places`. A model that shares no code with the calculator. */
export interface ExactAmount {
  readonly units: bigint;
  readonly places: number;
}

/** As many digits as a price may have before its point, and after it. */
const MAX_DIGITS = 30;

/** The amount that a price or a ratio means; `undefined` for a value that must be refused. */
export function parseAmount(value: unknown): ExactAmount | undefined {
  const text = typeof value === "number" ? expandNumber(value) : value;
  if (typeof text !== "string") return undefined;
  const [whole = "", fraction, ...more] = text.split(".");
  if (more.length > 0 || !isDigits(whole) || (fraction !== undefined && !isDigits(fraction)))
    return undefined;
  return { units: BigInt(whole + (fraction ?? "")), places: fraction?.length ?? 0 };
}

function isDigits(text: string): boolean {
  if (text === "" || text.length > MAX_DIGITS) return false;
  for (const digit of text) if (digit < "0" || digit > "9") return false;
  return true;
}

/** The shortest decimal text of a number, without an exponent. */
function expandNumber(value: number): string | undefined {
  const [mantissa = "", exponent] = String(value).split("e");
  if (exponent === undefined) return mantissa;
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = Number(exponent);
  if (shift < 0) return `0.${"0".repeat(-shift - whole.length)}${whole}${fraction}`;
  return `${whole}${fraction}${"0".repeat(Math.max(0, shift - fraction.length))}`;
}

export function toAmount(count: number): ExactAmount {
  return { units: BigInt(count), places: 0 };
}

export function multiply(a: ExactAmount, b: ExactAmount): ExactAmount {
  return { units: a.units * b.units, places: a.places + b.places };
}

export function add(a: ExactAmount, b: ExactAmount): ExactAmount {
  const places = Math.max(a.places, b.places);
  return { units: scale(a, places) + scale(b, places), places };
}

export function isAtMost(a: ExactAmount, b: ExactAmount): boolean {
  const places = Math.max(a.places, b.places);
  return scale(a, places) <= scale(b, places);
}

function scale({ units, places }: ExactAmount, to: number): bigint {
  return units * 10n ** BigInt(to - places);
}

/** The nearest amount with this number of decimal places; of two that are equally near, the larger. */
export function roundHalfUp({ units, places }: ExactAmount, to: number): ExactAmount {
  if (to >= places) return { units: units * 10n ** BigInt(to - places), places: to };
  const divisor = 10n ** BigInt(places - to);
  return { units: (2n * units + divisor) / (2n * divisor), places: to };
}

/** Plain text: no exponent, no zero at the end of a fraction. */
export function formatExact({ units, places }: ExactAmount): string {
  const digits = String(units).padStart(places + 1, "0");
  const fraction = digits.slice(digits.length - places).replace(/0+$/, "");
  const whole = digits.slice(0, digits.length - places);
  return places === 0 || fraction === "" ? whole : `${whole}.${fraction}`;
}
