import * as z from "zod/mini";
import type { IdempotencyOptions } from "../../options/options.js";
import { bytes, limits, whole, withMethods } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";
import type { WaitingOptions } from "./waiting-requests.js";

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
  waiting: z.optional(
    z.strictObject(
      {
        maxRequests: z.optional(whole(1)),
        maxRequestsPerCaller: z.optional(whole(1)),
      } satisfies Fields<WaitingOptions>,
      "must be an object with maxRequests or maxRequestsPerCaller",
    ),
  ),
}))();
