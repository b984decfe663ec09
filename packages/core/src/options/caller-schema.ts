import { z } from "zod";
import type { CallerOptions } from "../auth/authenticate.js";
import type { CallerLimits } from "../types.js";
import { parseInstant } from "../util/instant.js";
import { decimal, name, names, responseFormat, whole } from "./schema-values.js";

const limit = whole(1).nullable().optional();
/** What a caller may do in a time. */
export const callerLimits = z.strictObject(
  { requestsPerMinute: limit, imagesPerMinute: limit, concurrent: limit } satisfies Record<
    keyof CallerLimits,
    z.ZodType
  >,
  "must be an object of limits",
);

const EXPIRES_AT = "must be a Date, or a time with a zone such as 2027-01-31T00:00:00Z";
const expiresAt = z
  .union([z.string(), z.date()], EXPIRES_AT)
  .refine((value) => parseInstant(value) !== undefined, EXPIRES_AT);

/** One of the `callers`. */
export const apiKey = z
  .strictObject(
    {
      id: name,
      key: z
        .string("must be a string")
        .regex(/^[\x21-\x7e]+$/, "must be letters, digits and signs without spaces")
        .optional(),
      hash: z
        .string("must be a SHA-256 of 64 hexadecimal digits")
        .regex(/^[\da-f]{64}$/i, "must be a SHA-256 of 64 hexadecimal digits")
        .optional(),
      group: name.optional(),
      models: names.optional(),
      responseFormat,
      expiresAt: expiresAt.optional(),
      budget: decimal.optional(),
      limits: callerLimits.optional(),
    } satisfies Record<keyof CallerOptions, z.ZodType>,
    "must be an object with id and key or hash",
  )
  .refine(
    ({ key, hash }) => (key === undefined) !== (hash === undefined),
    "needs either key or hash; is the environment variable set?",
  );
