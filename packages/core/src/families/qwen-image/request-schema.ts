import * as z from "zod/mini";
import type { ReferenceImage } from "../../images/reference-image.js";
import type { SizeStyle } from "../../images/size.js";
import type { ResponseFormat } from "../../types.js";
import { toPlainNumber } from "../../util/json.js";
import type { SizeFields } from "../choose-size.js";
import { imageList } from "../image-list.js";
import { isReferenceImage } from "../shared.js";

/**
 * For fields whose number the gateway reads, and fields that must be objects: a number may be a raw JSON object, see
 * `util/json.ts`.
 */
const plain = <Schema extends z.ZodMiniType>(schema: Schema) => z.pipe(z.transform(toPlainNumber), schema);

const string = z.string({
  error: (issue) => (issue.input === undefined ? "is required" : "must be a string"),
});
const filled = string.check(z.minLength(1, "must not be empty"));
const integer = z.int("must be a whole number");
const responseFormat = z.optional(z.literal(["url", "b64_json"], 'must be "url" or "b64_json"'));
const boolean = z.optional(z.boolean("must be true or false"));

/** Items after these are not checked. A complete request has four. */
const MAX_CONTENT_ITEMS = 100;

interface ListRules {
  readonly isList: string;
  readonly fits: (length: number) => boolean;
  readonly hasLength: string;
}

/**
 * A list whose length is checked before its elements, because a million wrong elements would produce a million
 * issues.
 */
function listOf<Element extends z.ZodMiniType>(element: Element, { isList, fits, hasLength }: ListRules) {
  return z.pipe(
    z
      .custom<z.input<Element>[]>(Array.isArray, { error: isList, abort: true })
      .check(z.refine((list) => fits(list.length), hasLength)),
    z.array(element),
  );
}

/** Parameters that the shorthand also accepts at the top level. */
const sharedParameters = {
  watermark: boolean,
  prompt_extend: boolean,
  negative_prompt: z.optional(string),
  enable_sequential: boolean,
  thinking_mode: boolean,
};

/** The parameters that are interpreted here. Everything else in `parameters` is forwarded unchanged. */
const parameters = z.optional(
  plain(
    z.looseObject(
      {
        size: z.optional(string),
        n: z.optional(plain(integer.check(z.minimum(1, "must be at least 1")))),
        ...sharedParameters,
      },
      'must be an object such as {"size": "1328*1328"}',
    ),
  ),
);

const image = z
  .custom<ReferenceImage>(isReferenceImage, { error: "must be a string", abort: true })
  .check(z.refine((value) => value !== "", "must not be empty"));

const contentItem = z.looseObject(
  { text: z.optional(filled), image: z.optional(image) },
  "must be an object",
);

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

/** The structure with the content in `input.messages`. */
export const messagesRequestSchema = z.object({
  prompt: z
    .string("must be a string; a placeholder is enough, the content is in input.messages")
    .check(
      z.minLength(1, "must not be empty: keep a placeholder string in it, the content is in input.messages"),
    ),
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
  stream: boolean,
});

/** The shorthand of OpenAI's clients: no `input`, everything at the top level. */
export const shorthandRequestSchema = z.object({
  prompt: filled,
  image: z.optional(imageList),
  n: z.optional(plain(integer)),
  size: z.optional(string),
  ...sharedParameters,
  parameters,
  response_format: responseFormat,
  stream: boolean,
});

/** The standard structure, checked. */
export type MessagesFields = z.output<typeof messagesRequestSchema>;
/** The interpreted parameters, checked. */
type QwenImageParameters = NonNullable<z.output<typeof parameters>>;

/** The content of a request in either structure, before the model's capabilities are checked. */
export interface QwenImageContent {
  readonly text: string;
  /** Reference images in order, with the field that each came from. */
  readonly images: readonly { readonly value: ReferenceImage; readonly param: string }[];
  /** The client's `input`, if it sent one. Its unknown fields are forwarded. */
  readonly input?: MessagesFields["input"];
  /** `n` of the top level, which only the shorthand has, unless `parameters.n` replaces it. */
  readonly n?: number | undefined;
  /** True for the shorthand, in which a request without `n` wants one image, as in OpenAI's interface. */
  readonly isShorthand: boolean;
  readonly parameters: QwenImageParameters;
  /** Fields of the shorthand that say the size if `parameters` has none. Read only with `sizes: "nearest"`. */
  readonly ratioFields?: Pick<SizeFields, "aspect_ratio" | "resolution">;
  /** How the client writes sizes, for messages. */
  readonly sizeSeparator: SizeStyle["separator"];
  /** The field that a parameter came from, for messages. */
  readonly paramOf: (name: "n" | "size") => string;
  readonly responseFormat: ResponseFormat | undefined;
  readonly stream: boolean;
  readonly ignored: readonly string[];
}
