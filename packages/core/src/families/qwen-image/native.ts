import * as z from "zod/mini";
import { invalidRequest } from "../../errors.js";
import type { ReferenceImage } from "../../images/reference-image.js";
import type { ImageRequest } from "../../types.js";
import { isJsonObject, type JsonObject, toPlainNumber } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { NormalizeContext } from "../family.js";
import { isReferenceImage } from "../shared.js";
import { countDefaultImages, countMaxPixels, findMostImages } from "./capabilities.js";

/**
 * Normalizes a body of DashScope's native endpoint. Only what decides the charge is checked: that there is one message,
 * and `parameters.n`. Everything is forwarded as sent, and DashScope checks the rest.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function normalizeNative(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { input, parameters } = parseFields(nativeRequestSchema, fields);
  const isSequence = parameters?.enable_sequential === true;
  const n = parameters?.n ?? countDefaultImages(context.capabilities, isSequence);
  const most = findMostImages(context.capabilities, isSequence);
  if (most !== undefined && n > most) {
    throw invalidRequest(
      `parameters.n asks for ${n} images; this model makes at most ${most}.`,
      "parameters.n",
    );
  }
  const { texts, images } = readContent(input.messages[0]);
  return {
    operation: "native",
    model: context.model,
    prompt: texts.join("\n"),
    images,
    maxImages: n,
    maxPixels: countMaxPixels(readString(parameters?.size), context.capabilities),
    responseFormat: "url",
    stream: false,
    upstreamFields: fields,
    ignored: [],
  };
}

interface Content {
  /** For `beforeSend`, which must see every text that DashScope may read. */
  readonly texts: readonly string[];
  readonly images: readonly ReferenceImage[];
}

/** The texts and images of a message of any shape. */
function readContent(message: unknown): Content {
  const content = isJsonObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return { texts: [content], images: [] };
  const items = Array.isArray(content) ? content.filter(isJsonObject) : [];
  return {
    texts: items.flatMap(({ text }) => readString(text) ?? []),
    images: items.map(({ image }) => image).filter(isReferenceImage),
  };
}

function readString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

const n = z.int("must be a whole number").check(z.minimum(1, "must be at least 1"));

/** A number may be a raw JSON object, see `util/json.ts`. */
const plainN = z.pipe(z.transform(toPlainNumber), z.nullish(n));

/** The fields that the endpoint interprets; `null` is forwarded like any other value. */
export const nativeRequestSchema = z.object({
  input: z.looseObject(
    {
      messages: z
        .custom<unknown[]>(Array.isArray, { error: "is required: a list of one message", abort: true })
        .check(z.refine((list) => list.length === 1, "must hold exactly one message")),
    },
    "must be an object with messages",
  ),
  parameters: z.nullish(
    z.looseObject(
      {
        n: z.optional(plainN),
        size: z.optional(z.unknown()),
        enable_sequential: z.nullish(z.boolean("must be true or false")),
      },
      'must be an object such as {"size": "1328*1328"}',
    ),
  ),
});
