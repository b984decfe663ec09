import { z } from "zod";
import type { ReferenceImage } from "../../images/reference-image.js";
import { toPlainNumber } from "../../util/json.js";
import { imageList, isReferenceImage } from "../image-list.js";

/**
 * For fields whose number the gateway reads, and fields that must be objects: a number may be a raw JSON object, see
 * `util/json.ts`.
 */
const plain = <Schema extends z.ZodType>(schema: Schema) => z.preprocess(toPlainNumber, schema);

const text = z.string({ error: (issue) => (issue.input === undefined ? "is required" : "must be a string") });
const filled = text.min(1, "must not be empty");
const integer = z.int("must be a whole number");
const responseFormat = z.enum(["url", "b64_json"], 'must be "url" or "b64_json"').optional();
const stream = z.boolean("must be true or false").optional();

/** Items past these are not looked at; four make a full request. */
const MAX_CONTENT_ITEMS = 100;

interface ListRules {
  readonly isList: string;
  readonly fits: (length: number) => boolean;
  readonly hasLength: string;
}

/** A list whose length is checked before its elements: a million wrong ones would become a million issues. */
function listOf<Element extends z.ZodType>(element: Element, { isList, fits, hasLength }: ListRules) {
  return z
    .custom<z.input<Element>[]>(Array.isArray, { error: isList, abort: true })
    .refine((list) => fits(list.length), hasLength)
    .pipe(z.array(element));
}

/** Parameters that the shorthand takes at the top level, too. */
const sharedParameters = {
  watermark: z.boolean("must be true or false").optional(),
  prompt_extend: z.boolean("must be true or false").optional(),
  negative_prompt: text.optional(),
};

/** The parameters that are interpreted here; everything else in `parameters` is forwarded as it came. */
const parameters = plain(
  z.looseObject(
    {
      size: text.optional(),
      n: plain(integer.min(1, "must be at least 1")).optional(),
      ...sharedParameters,
    },
    'must be an object such as {"size": "1328*1328"}',
  ),
).optional();

const image = z
  .custom<ReferenceImage>(isReferenceImage, { error: "must be a string", abort: true })
  .refine((value) => value !== "", "must not be empty");

const contentItem = z.looseObject({ text: filled.optional(), image: image.optional() }, "must be an object");

const message = z.looseObject(
  {
    role: z.literal("user", 'must be "user"'),
    content: listOf(contentItem, {
      isList: "must be a list of {text} and {image} items",
      fits: (length) => length <= MAX_CONTENT_ITEMS,
      hasLength: "must hold one text item and at most three image items",
    }),
  },
  "must be an object with role and content",
);

/** The standard structure of family B: the content stands in `input.messages`. */
export const messagesRequestSchema = z.object({
  prompt: z
    .string("must be a string; a placeholder is enough, the content stands in input.messages")
    .min(1, "must not be empty: keep a placeholder text in it, the content stands in input.messages"),
  input: z.looseObject(
    {
      messages: listOf(message, {
        isList: "is required: a list of one message",
        fits: (length) => length === 1,
        hasLength: "must hold exactly one message",
      }),
    },
    "must be an object with messages",
  ),
  parameters,
  response_format: responseFormat,
  stream,
});

/** The shorthand of OpenAI's clients: no `input`, everything at the top level. */
export const shorthandRequestSchema = z.object({
  prompt: filled,
  image: imageList.optional(),
  n: plain(integer).optional(),
  size: text.optional(),
  ...sharedParameters,
  parameters,
  response_format: responseFormat,
  stream,
});

/** The standard structure, checked. */
export type MessagesFields = z.output<typeof messagesRequestSchema>;
/** The interpreted parameters, checked. */
export type QwenImageParameters = NonNullable<z.output<typeof parameters>>;
