import { z } from "zod";
import { toPlainNumber } from "../../util/json.js";
import { imageList } from "../image-list.js";

/**
 * For fields whose number the gateway reads, and fields that must be objects: a number may be a raw JSON object, see
 * `util/json.ts`.
 */
const plain = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(toPlainNumber, schema);

const text = z.string({ error: (issue) => (issue.input === undefined ? "is required" : "must be a string") });
const integer = z.int("must be a whole number");
const wholeNumber = plain(integer);
const atLeastOne = plain(integer.min(1, "must be at least 1"));

/**
 * The fields of family A that are interpreted here; everything else is forwarded as it came, and is not in what this
 * gives. Messages continue the field's name.
 */
export const seedreamRequestSchema = z.object({
  prompt: text.min(1, "must not be empty"),
  n: wholeNumber.optional(),
  size: text.optional(),
  response_format: z.enum(["url", "b64_json"], 'must be "url" or "b64_json"').optional(),
  output_format: text.optional(),
  watermark: z.boolean("must be true or false").optional(),
  image: imageList.optional(),
  seed: wholeNumber.optional(),
  guidance_scale: plain(z.number("must be a number")).optional(),
  sequential_image_generation: z.enum(["auto", "disabled"], 'must be "auto" or "disabled"').optional(),
  sequential_image_generation_options: plain(
    z.looseObject({ max_images: atLeastOne.optional() }, 'must be an object such as {"max_images": 4}'),
  ).optional(),
  stream: z.boolean("must be true or false").optional(),
  layer_decomposition: z.boolean("must be true or false").optional(),
  optimize_prompt_options: plain(z.looseObject({}, 'must be an object such as {"mode": "fast"}')).optional(),
});

/** The fields that the native endpoint interprets; `null` is forwarded like any other value. */
export const nativeRequestSchema = z.object({
  prompt: text.min(1, "must not be empty"),
  image: z.unknown().optional(),
  response_format: z.unknown().optional(),
  sequential_image_generation: z.enum(["auto", "disabled"], 'must be "auto" or "disabled"').nullish(),
  sequential_image_generation_options: plain(
    z
      .looseObject({ max_images: atLeastOne.nullish() }, 'must be an object such as {"max_images": 4}')
      .nullish(),
  ).optional(),
  stream: z.boolean("must be true or false").nullish(),
  layer_decomposition: z.boolean("must be true or false").nullish(),
});

/** The interpreted fields of family A, checked. */
export type SeedreamFields = z.output<typeof seedreamRequestSchema>;
