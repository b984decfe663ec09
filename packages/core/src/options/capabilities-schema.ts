import * as z from "zod/mini";
import type { BackgroundRules, Capabilities, LayerRules } from "../families/capabilities.js";
import type { SizeLimits } from "../images/size.js";
import type { Fields } from "../util/parse-fields.js";
import { boolean, name, names, whole } from "./schema-parts.js";

const IN_ORDER = "must have a min that is not above its max";

const range = z
  .strictObject({ min: whole(0), max: whole(0) }, "must be {min, max}")
  .check(z.refine(isInOrder, IN_ORDER));

const WIDTH_AND_HEIGHT = "must be [width, height]";

const size = z.strictObject(
  {
    presets: z.optional(names),
    list: z.optional(
      z.array(
        z.array(whole(1), WIDTH_AND_HEIGHT).check(z.refine(({ length }) => length === 2, WIDTH_AND_HEIGHT)),
        "must be a list of [width, height]",
      ),
    ),
    totalPixels: z.optional(range),
    side: z.optional(range),
    maxAspectRatio: z.optional(z.number("must be a number").check(z.minimum(1, "must be at least 1"))),
    multipleOf: z.optional(whole(1)),
  } satisfies Fields<SizeLimits>,
  'must be "none" or an object of sizes',
);

const filledNames = names.check(z.minLength(1, "must not be empty"));

const LAYERS = 'must be "none" or an object with max';

const RELEASED = "must be a date such as 2026-11-12";

/** The schema of a row of capabilities. */
export const capabilitiesSchema = z.strictObject(
  {
    size: z.optional(z.union([z.literal("none"), size], 'must be "none" or an object of sizes')),
    references: z.optional(
      z
        .strictObject({ min: z.optional(whole(0)), max: whole(0) }, "must be {min, max}")
        .check(z.refine(isInOrder, IN_ORDER)),
    ),
    sizeWithReferences: z.optional(size),
    imagesPerCall: z.optional(whole(1)),
    defaultImages: z.optional(whole(1)),
    imagesPerSequence: z.optional(whole(1)),
    maxReferencesAndImages: z.optional(whole(1)),
    streaming: boolean,
    sequentialImages: boolean,
    background: z.optional(
      z.strictObject(
        { values: filledNames, transparentNeedsPng: boolean } satisfies Fields<BackgroundRules>,
        "must be an object with values",
      ),
    ),
    layers: z.optional(
      z.union(
        [
          z.literal("none"),
          z.strictObject(
            { max: whole(1), sizes: z.optional(filledNames) } satisfies Fields<LayerRules>,
            LAYERS,
          ),
        ],
        LAYERS,
      ),
    ),
    outputFormats: z.optional(filledNames),
    qualities: z.optional(filledNames),
    outputTokens: z.optional(z.record(name, whole(1), "must be an object of names and numbers of tokens")),
    textTokens: z.optional(whole(0)),
    referenceTokens: z.optional(whole(0)),
    released: z.optional(
      z
        .string(RELEASED)
        .check(
          z.refine((date) => /^\d{4}-\d\d-\d\d$/.test(date) && !Number.isNaN(Date.parse(date)), RELEASED),
        ),
    ),
    source: z.optional(name),
    checked: z.optional(name),
  } satisfies Fields<Capabilities>,
  "must be the name of a row of capabilities, or a row",
);

function isInOrder({ min = 0, max }: { readonly min?: number | undefined; readonly max: number }): boolean {
  return min <= max;
}
