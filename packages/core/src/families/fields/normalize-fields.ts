import * as z from "zod/mini";
import { type GatewayError, invalidRequest } from "../../errors.js";
import { type ReferenceImage, toReferenceImage } from "../../images/reference-image.js";
import { checkSize, countMostPixels, parsePixels } from "../../images/size.js";
import type { ImageRequest } from "../../types.js";
import { type JsonObject, toPlainNumber } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { Capabilities } from "../capabilities.js";
import { type ChosenSize, chooseNearestSize } from "../choose-size.js";
import type { NormalizeContext } from "../family.js";
import { imageList } from "../image-list.js";
import { isReferenceImage, splitOpenAiOnly } from "../shared.js";
import { countUpstreamCalls } from "../upstream-calls.js";

/** The most images of one request of OpenAI's API, for models without a row. */
const MAX_IMAGES = 10;

/** Media types of reference images. OpenAI takes the first three; the other providers decide themselves. */
const REFERENCE_MEDIA_TYPES: ReadonlySet<string> = new Set(
  ["png", "jpeg", "jpg", "webp", "gif", "bmp", "tiff", "heic", "heif"].map((format) => `image/${format}`),
);

/** The most partial images of one image. */
const MAX_PARTIAL_IMAGES = 3;

/** Formats that have no stream and no transparent background, by OpenAI's guide. */
const WITHOUT_STREAM: ReadonlySet<string | undefined> = new Set(["gif", "svg"]);
const TRANSPARENT_FORMATS: ReadonlySet<string | undefined> = new Set([undefined, "png", "webp"]);

/** A request of `/v1` as it was checked, and its fields. */
export interface NormalizedFields {
  readonly request: ImageRequest;
  readonly parsed: RequestFields;
}

/**
 * Checks the body of a client of `/v1` for a provider whose fields have OpenAI's names or are sent as they came: what
 * decides the charge, the size and the number of calls. The fields keep their names in `upstreamFields`; the images,
 * `response_format` and what the gateway does itself are not among them.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function normalizeFields(fields: JsonObject, context: NormalizeContext): NormalizedFields {
  const { capabilities, operation, model } = context;
  const parsed = parseFields(openaiRequestSchema, fields);
  const images = readImages(parsed.image, capabilities);
  const { mask, markup } = parsed;
  checkMask(images, parsed);
  checkModelFields(parsed, capabilities);
  const upstreamCalls = countUpstreamCalls(parsed, context);
  const n = parsed.n ?? 1;
  checkCount({ n, upstreamCalls, references: images.length }, capabilities);
  const streams = isStreamed(parsed, context) && upstreamCalls === 1;
  const size = readSize(fields, parsed.size, context);
  const isOneImage = capabilities?.imagesPerCall === 1;
  const unsent = new Set([
    "image",
    "mask",
    "markup",
    "response_format",
    "size",
    ...size.read,
    ...(streams ? [] : ["stream", "partial_images"]),
    ...(isOneImage ? ["n"] : []),
  ]);
  const sent = Object.entries(fields).filter(([name]) => !unsent.has(name));
  const request: ImageRequest = {
    operation,
    model,
    prompt: parsed.prompt,
    images,
    ...(mask !== undefined && { mask }),
    ...(markup !== undefined && { markup }),
    maxImages: n,
    ...(upstreamCalls > 1 && { upstreamCalls }),
    maxPixels: countMaxPixels(size.size, capabilities),
    responseFormat:
      parsed.response_format ?? context.defaultResponseFormat ?? context.ownResponseFormat ?? "b64_json",
    stream: parsed.stream ?? false,
    ...(size.replacedSize !== undefined && { replacedSize: size.replacedSize }),
    upstreamFields: {
      ...Object.fromEntries(sent),
      ...(size.size !== undefined && { size: size.size }),
    },
    ignored: size.ignored,
  };
  return { request, parsed };
}

/**
 * The same for a provider that works with jobs: it makes no streams, and one image per call unless a row says more. What only
 * OpenAI's clients send is left out and named in `ignored`, except for fields that the model's row has. A model without a row
 * may be one of OpenAI's, so it gets all of them.
 */
export function normalizeJobFields(
  fields: JsonObject,
  { capabilities, ...context }: NormalizeContext,
): ImageRequest {
  const ofJobs = { imagesPerCall: 1, streaming: false, ...capabilities };
  const { request } = normalizeFields(fields, { ...context, capabilities: ofJobs });
  const { size, ...others } = request.upstreamFields;
  const { known, ignored } = splitOpenAiOnly(others, listKnown(others, capabilities));
  const isAuto = size === "auto" || size === undefined;
  return {
    ...request,
    upstreamFields: { ...known, ...(!isAuto && { size }) },
    ignored: [...request.ignored, ...ignored],
  };
}

/** What identifies a client's user, and is of no use to another provider than OpenAI. */
const NEVER_KNOWN: ReadonlySet<string> = new Set(["user", "safety_identifier"]);

function listKnown(fields: JsonObject, capabilities: Capabilities | undefined): readonly string[] {
  if (capabilities === undefined) return Object.keys(fields).filter((name) => !NEVER_KNOWN.has(name));
  const { qualities, background } = capabilities;
  return [...(qualities ? ["quality"] : []), ...(background ? ["background"] : [])];
}

function readImages(
  image: RequestFields["image"],
  { references }: Capabilities = {},
): readonly ReferenceImage[] {
  const list = image === undefined ? [] : [image].flat();
  const { min = 0, max } = references ?? {};
  if (max !== undefined && list.length > max) {
    const most = max === 0 ? "this model takes none" : `at most ${max} are allowed`;
    throw invalidRequest(`image has ${list.length} reference images; ${most}.`, "image");
  }
  if (list.length < min)
    throw invalidRequest(`image is required: this model needs ${min} reference images.`, "image");
  return list.map((value, index) =>
    toReferenceImage(value, Array.isArray(image) ? `image[${index}]` : "image", REFERENCE_MEDIA_TYPES),
  );
}

function checkMask(images: readonly ReferenceImage[], { mask, markup }: RequestFields): void {
  if (mask !== undefined && markup !== undefined) {
    throw invalidRequest("markup cannot be sent together with mask.", "markup");
  }
  const name = mask === undefined ? "markup" : "mask";
  if ((mask ?? markup) !== undefined && images.length === 0) {
    throw invalidRequest(`${name} needs a reference image: send image.`, "image");
  }
}

/** What the row does not state is not checked. The provider checks everything else. */
function checkModelFields(fields: RequestFields, capabilities: Capabilities = {}): void {
  const { qualities, outputFormats, background: backgrounds } = capabilities;
  checkValue("quality", fields.quality, qualities && [...qualities, "auto"]);
  checkValue("output_format", fields.output_format, outputFormats);
  checkValue("background", fields.background, backgrounds?.values);
  const { background, output_format: format, stream, partial_images: partialImages = 0 } = fields;
  if (background === "transparent" && backgrounds !== undefined && !TRANSPARENT_FORMATS.has(format)) {
    throw invalidRequest(
      `background "transparent" is not possible with output_format "${format}": send "png" or "webp".`,
      "output_format",
    );
  }
  if (partialImages > 0 && stream !== true) {
    throw invalidRequest("partial_images needs stream: true.", "partial_images");
  }
}

function checkValue(name: string, value: string | undefined, values: readonly string[] | undefined): void {
  if (value === undefined || values === undefined || values.includes(value)) return;
  const listed = values.map((allowed) => JSON.stringify(allowed)).join(", ");
  const given = JSON.stringify(value.slice(0, 32));
  throw invalidRequest(`${name} ${given} is not supported by this model: send ${listed}.`, name);
}

function checkCount(
  {
    n,
    upstreamCalls,
    references,
  }: { readonly n: number; readonly upstreamCalls: number; readonly references: number },
  { imagesPerCall = MAX_IMAGES, maxReferencesAndImages = Infinity }: Capabilities = {},
): void {
  const most = Math.max(upstreamCalls, imagesPerCall);
  if (n > most) throw invalidRequest(`n asks for ${n} images; at most ${most} are allowed.`, "n");
  const together = references + n / upstreamCalls;
  if (together <= maxReferencesAndImages) return;
  throw invalidRequest(
    `n and the reference images are ${together} together; at most ${maxReferencesAndImages} are allowed.`,
    "n",
  );
}

/**
 * Whether the provider gets `stream`. If it makes no stream of this request, the gateway makes one in OpenAI's format from
 * the response.
 *
 * @throws GatewayError if the client would get no stream
 */
function isStreamed(
  { stream, output_format: format }: RequestFields,
  { capabilities, streamFormat }: NormalizeContext,
): boolean {
  if (stream !== true) return false;
  const cannot =
    capabilities?.streaming === false
      ? "by this model"
      : WITHOUT_STREAM.has(format)
        ? `with output_format "${format}"`
        : undefined;
  if (cannot === undefined) return true;
  if (streamFormat === "openai") return false;
  throw invalidRequest(`stream is not supported ${cannot}: leave it out.`, "stream");
}

/** `auto` is sent as it is: OpenAI's models know it, and the dialects of other services leave it out. */
function readSize(
  { aspect_ratio, resolution }: JsonObject,
  size: string | undefined,
  { capabilities, sizes }: NormalizeContext,
): ChosenSize {
  const limits = capabilities?.size;
  const chosen: ChosenSize =
    sizes === "nearest"
      ? chooseNearestSize({ size, aspect_ratio, resolution }, limits)
      : { size: size === "auto" ? undefined : size, read: [], ignored: [] };
  if (chosen.size === undefined) {
    return size === "auto" && limits !== "none" ? { ...chosen, size } : chosen;
  }
  if (limits === "none") throw sizeRefused();
  if (limits !== undefined) checkSize(chosen.size, limits, { separator: "x", param: "size" });
  return chosen;
}

function sizeRefused(): GatewayError {
  return invalidRequest("size is not supported by this model: leave it out.", "size");
}

/** The most pixels of an image of this size; for `auto` those of the largest size of the row. */
function countMaxPixels(
  size: string | undefined,
  capabilities: Capabilities | undefined,
): number | undefined {
  const sides = parsePixels(size ?? "", "x");
  if (sides !== undefined) return sides[0] * sides[1];
  return countMostPixels(capabilities?.size);
}

const plain = <Schema extends z.ZodMiniType>(schema: Schema) => z.pipe(z.transform(toPlainNumber), schema);
const string = z.string("must be a string");
const integer = z
  .number("must be a whole number")
  .check(z.refine(Number.isSafeInteger, "must be a whole number"));
const image = z.custom<ReferenceImage>(isReferenceImage, "must be an image");
const PARTIAL_IMAGES = `must be from 0 to ${MAX_PARTIAL_IMAGES}`;

/** The fields that are interpreted here. All others are forwarded. The messages continue the name of the field. */
export const openaiRequestSchema = z.object({
  prompt: string.check(z.minLength(1, "must not be empty")),
  n: z.optional(plain(integer.check(z.minimum(1, "must be at least 1")))),
  size: z.optional(string),
  quality: z.optional(string),
  background: z.optional(string),
  output_format: z.optional(string),
  response_format: z.optional(z.enum(["url", "b64_json"], 'must be "url" or "b64_json"')),
  stream: z.optional(z.boolean("must be true or false")),
  partial_images: z.optional(
    plain(integer.check(z.minimum(0, PARTIAL_IMAGES), z.maximum(MAX_PARTIAL_IMAGES, PARTIAL_IMAGES))),
  ),
  image: z.optional(imageList),
  mask: z.optional(image),
  markup: z.optional(image),
});

type RequestFields = z.output<typeof openaiRequestSchema>;
