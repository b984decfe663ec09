/**
 * Numbers that keep their text. `JSON.parse` changes 12345678901234567890, 1e400, 0.1000000000000000055, -0 and 1.0;
 * fields that are only forwarded must reach the provider as they were sent. Such a number is a raw JSON object
 * (`JSON.rawJSON`), which `JSON.stringify` writes as its text. Families read it with {@link toPlainNumber}.
 *
 * Node 22, Bun 1.4, Deno and workerd have `JSON.rawJSON`. A runtime without it changes these numbers.
 */
interface JsonWithSource {
  readonly rawJSON?: (text: string) => object;
  readonly isRawJSON?: (value: unknown) => boolean;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ): unknown;
}

// The types of TypeScript's library do not have these functions yet.
const json: JsonWithSource = JSON;

/** Integers of up to 15 digits are always exact. Nearly all numbers match this. */
const PLAIN_INTEGER = /^-?[1-9]\d{0,14}$/;

/** Whether JavaScript writes a number exactly as it is written here. */
export function isExactly(text: string): boolean {
  return text === "0" || PLAIN_INTEGER.test(text) || String(Number(text)) === text;
}

/** `JSON.parse`, with a raw JSON object in the place of each number that JavaScript would write differently. */
export function parseKeepingNumbers(text: string): unknown {
  return json.parse(text, (_key, value, context) => {
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return json.rawJSON?.(source) ?? value;
  });
}

/** True for a number that kept its text. */
export function isSourceNumber(value: unknown): value is { readonly rawJSON: string } {
  return json.isRawJSON?.(value) === true;
}

/** Returns the number of a raw JSON object, and any other value unchanged. For fields that the gateway reads. */
export function toPlainNumber(value: unknown): unknown {
  return isSourceNumber(value) ? Number(value.rawJSON) : value;
}
