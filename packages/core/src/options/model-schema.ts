import { z } from "zod";
import type { ModelLimits } from "../families/model-limits.js";
import type { SizeLimits } from "../images/size.js";
import type { ModelOptions } from "../models/resolve-model.js";
import { callerLimits } from "./caller-schema.js";
import { IN_ORDER, isInOrder, name, names, range, responseFormat, whole } from "./schema-values.js";

const sizePair = z.tuple([whole(1), whole(1)], "must be [width, height]");

const size = z.strictObject(
  {
    presets: names.optional(),
    list: z.array(sizePair, "must be a list of [width, height]").optional(),
    totalPixels: range.optional(),
    side: range.optional(),
    maxAspectRatio: z.number("must be a number").min(1, "must be at least 1").optional(),
  } satisfies Record<keyof SizeLimits, z.ZodType>,
  'must be "none" or an object of sizes',
);

const limits = z.strictObject(
  {
    size: z.union([z.literal("none"), size], 'must be "none" or an object of sizes').optional(),
    references: z
      .strictObject({ min: whole(0).optional(), max: whole(0) }, "must be {min, max}")
      .refine(isInOrder, IN_ORDER)
      .optional(),
    maxImages: whole(1).optional(),
    maxLayers: whole(0).optional(),
    maxReferencesAndImages: whole(1).optional(),
  } satisfies Record<keyof ModelLimits, z.ZodType>,
  "must be the name of a row of limits, or a row",
);

/** One of the `models`. */
export const model = z.strictObject(
  {
    family: name,
    limits: z.union([name, limits], "must be the name of a row of limits, or a row").optional(),
    responseFormat,
    callerLimits: callerLimits.optional(),
  } satisfies Record<keyof ModelOptions, z.ZodType>,
  "must be an object with family",
);
