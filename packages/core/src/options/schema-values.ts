import { z } from "zod";
import { parseDecimal } from "../billing/decimal.js";
import { isName, NAME_RULE } from "../billing/stored-entries.js";

/** A name that every ledger can keep. */
export const name = z
  .string("must be a string")
  .min(1, "must not be empty")
  .refine(isName, `must be ${NAME_RULE}`);
/** As a client may ask for. */
export const responseFormat = z.enum(["url", "b64_json"], 'must be "url" or "b64_json"').optional();
/** A price, a ratio or a budget. */
export const decimal = z
  .union([z.string(), z.number()], 'must be a decimal such as "0.04"')
  .refine((value) => parseDecimal(value) !== undefined, 'must be a decimal of at least 0, such as "0.04"');
/** Places that a charge is rounded to. */
export const decimalPlaces = z
  .int("must be a whole number")
  .min(0, "must be at least 0")
  .max(30, "must be at most 30")
  .optional();
/** A size in bytes, of at least 1. */
export const bytes = z.int("must be a whole number of bytes").min(1, "must be at least 1").optional();
/** A day. Timers that are set past 2^31 milliseconds end at once. */
export const MAX_SECONDS = 86_400;
const MAX_MILLISECONDS = MAX_SECONDS * 1000;
/** A time of at least a millisecond and at most a day. */
export const milliseconds = z
  .int("must be a whole number of milliseconds")
  .min(1, "must be at least 1")
  .max(MAX_MILLISECONDS, `must be at most ${MAX_MILLISECONDS}, a day`)
  .optional();
/** A function of the operator's. */
export const asFunction = z.custom<never>((value) => typeof value === "function", "must be a function");
export const TRUE_OR_FALSE = "must be true or false";
/** A list of names or series. */
export const names = z.array(name, "must be a list of names");

/** A whole number of at least `min`. */
export function whole(min: number) {
  return z.int("must be a whole number").min(min, `must be at least ${min}`);
}

export function isInOrder({
  min = 0,
  max,
}: {
  readonly min?: number | undefined;
  readonly max: number;
}): boolean {
  return min <= max;
}

export const IN_ORDER = "must have a min that is not above its max";
/** From a least to a most, both included. */
export const range = z
  .strictObject({ min: whole(0), max: whole(0) }, "must be {min, max}")
  .refine(isInOrder, IN_ORDER);

/** An object of the operator's, or a library's, that is only called. */
export function withMethods(...methods: readonly string[]) {
  return z
    .custom<never>(
      (value) =>
        typeof value === "object" &&
        value !== null &&
        methods.every((method) => typeof Reflect.get(value, method) === "function"),
      `must have the functions ${methods.join(", ")}`,
    )
    .optional();
}
