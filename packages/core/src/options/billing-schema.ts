import { z } from "zod";
import type { LoadedBilling } from "./load-options.js";
import { decimal, decimalPlaces, name } from "./schema-values.js";

const modelDetails = z.discriminatedUnion(
  "pricing_mode",
  [
    z.strictObject({
      pricing_mode: z.literal("per-request"),
      model_price: decimal,
      decimal_places: decimalPlaces,
    }),
    z.strictObject({
      pricing_mode: z.literal("per-token"),
      output_token_price: decimal,
      input_token_price: decimal.optional(),
      decimal_places: decimalPlaces,
    }),
  ],
  'needs pricing_mode: "per-request" or "per-token"',
);

/** Prices and ratios as they were read. */
export const billing = z.strictObject(
  {
    model_details: z.record(name, modelDetails, "is missing: names and their prices"),
    group_ratio: z.record(name, decimal, "must be an object of groups and their ratios").optional(),
    onLost: z.enum(["release", "charge"], 'must be "release" or "charge"').optional(),
  } satisfies Record<keyof LoadedBilling, z.ZodType>,
  "must be an object with model_details",
);
