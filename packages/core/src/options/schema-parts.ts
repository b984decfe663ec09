import * as z from "zod/mini";
import { hasFunctions } from "../billing/ledger-ability.js";
import type { CallerLimits, Preferences } from "../types.js";
import { isName, NAME_RULE } from "../util/name.js";
import type { Fields } from "../util/parse-fields.js";

export const TRUE_OR_FALSE = "must be true or false";

/** A day. A timer of more than 2^31 ms would fire at once. */
export const MAX_SECONDS = 86_400;

/** A name that every ledger can store. */
export const name = z
  .string("must be a string")
  .check(z.minLength(1, "must not be empty"), z.refine(isName, `must be ${NAME_RULE}`));

/** Names or series. */
export const names = z.array(name, "must be a list of names");

/** The fields of `Preferences`. */
export const preferences = {
  responseFormat: z.optional(z.literal(["url", "b64_json"], 'must be "url" or "b64_json"')),
  streamFormat: z.optional(z.literal(["native", "openai"], 'must be "native" or "openai"')),
  sizes: z.optional(z.literal(["strict", "nearest"], 'must be "strict" or "nearest"')),
} satisfies Fields<Preferences>;

/** An optional boolean. */
export const boolean = z.optional(z.boolean(TRUE_OR_FALSE));

/** A function. */
export const asFunction = z.custom<never>((value) => typeof value === "function", "must be a function");

/** An optional function. */
export const hook = z.optional(asFunction);

/** An optional number of bytes, at least 1. */
export const bytes = z.optional(
  z.int("must be a whole number of bytes").check(z.minimum(1, "must be at least 1")),
);

/** An optional number of seconds, at most a day. */
export const seconds = z.optional(
  z
    .number("must be a number of seconds")
    .check(z.positive("must be above 0"), z.maximum(MAX_SECONDS, `must be at most ${MAX_SECONDS}, a day`)),
);

/** The longest time for which a request waits for its limits. */
const MAX_WAIT_SECONDS = 300;

const limit = z.optional(z.nullable(whole(1)));

/** Optional limits of a caller or a model. */
export const limits = z.optional(
  z.strictObject(
    {
      requestsPerMinute: limit,
      imagesPerMinute: limit,
      concurrent: limit,
      waitSeconds: z.optional(
        z.nullable(
          z
            .number("must be a number of seconds")
            .check(
              z.minimum(0, "must be at least 0"),
              z.maximum(MAX_WAIT_SECONDS, `must be at most ${MAX_WAIT_SECONDS}`),
            ),
        ),
      ),
    } satisfies Fields<CallerLimits>,
    "must be an object of limits",
  ),
);

/** A whole number of at least `min`. */
export function whole(min: number) {
  return z.int("must be a whole number").check(z.minimum(min, `must be at least ${min}`));
}

/** A whole number from `min` to `max`. */
export function wholeUpTo(min: number, max: number) {
  return whole(min).check(z.maximum(max, `must be at most ${max}`));
}

/** An object with these methods. */
export function withMethods(...methods: readonly string[]) {
  return z.optional(
    z.custom<never>((value) => hasFunctions(value, methods), `must have the functions ${methods.join(", ")}`),
  );
}
