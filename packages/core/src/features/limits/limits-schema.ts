import * as z from "zod/mini";
import type { IdempotencyOptions } from "../../options/options.js";
import { bytes, limits, withMethods } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";

/** What callers may do, and how repeats of their requests are recognized. */
export const limitOptions = /* @__PURE__ */ (() => ({
  limits,
  admission: withMethods("admit", "finish", "setCooldown"),
  idempotency: z.optional(
    z.strictObject(
      {
        seconds: z.optional(
          z.int("must be a whole number of seconds").check(z.minimum(1, "must be at least 1")),
        ),
        maxResponseBytes: bytes,
      } satisfies Fields<IdempotencyOptions>,
      "must be an object with seconds or maxResponseBytes",
    ),
  ),
}))();
