import * as z from "zod/mini";
import { invalidRequest } from "../../errors.js";
import { type ReferenceImage, toReferenceImage } from "../../images/reference-image.js";
import type { ImageRequest } from "../../types.js";
import { type JsonObject, toPlainNumber } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { Capabilities } from "../capabilities.js";
import type { NormalizeContext } from "../family.js";
import { imageList } from "../image-list.js";
import { isReferenceImage, splitOpenAiOnly } from "../shared.js";
import { countUpstreamCalls } from "../upstream-calls.js";
import { countMaxPixels, countMaxTokens, REFERENCE_MEDIA_TYPES } from "./capabilities.js";
import {
  checkCounts,
  checkModelFields,
  checkReferences,
  countBatch,
  readCallLimits,
  readSequential,
  readSize,
} from "./model-checks.js";
import { countLayersOfEach, countMaxImages } from "./sequential-images.js";

/** The body of a client of `/v1`, checked and with the rule for `n` applied. */
export function normalizeSeedream(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { capabilities } = context;
  const { known, ignored } = splitOpenAiOnly(fields, capabilities?.background && ["background"]);
  const isDecomposed = known["layer_decomposition"] === true;
  const parsed = parseFields(isDecomposed ? layersRequestSchema : seedreamRequestSchema, known);
  checkReferences([parsed.image ?? []].flat().length, capabilities);
  const images = readImages(parsed.image);
  checkModelFields(parsed, images, context);
  // A client that sends the provider's own field gets one call.
  const upstreamCalls = parsed.sequential_image_generation ? 1 : countUpstreamCalls(parsed, context);
  const ofOneCall = upstreamCalls > 1 ? { ...parsed, n: 1 } : parsed;
  const sequential = readSequential(ofOneCall, capabilities);
  const batch = countBatch(ofOneCall, sequential, images.length, capabilities);
  checkCounts(images.length, batch, ofOneCall, capabilities);
  const layers = countLayersOfEach(isDecomposed, context);
  const responseFormat = parsed.response_format ?? context.defaultResponseFormat;
  const unsent = parsed.prompt === "" ? ["prompt"] : [];
  // The responses of several calls become one stream in the gateway.
  const notForEachCall = upstreamCalls > 1 ? ["stream"] : [];
  const { aspect_ratio, resolution } = known;
  const size = readSize({ ...parsed, aspect_ratio, resolution }, context);
  const maxPixels = countMaxPixels(size.size, capabilities);
  const { n: _n, size: _size, ...upstreamFields } = known;
  for (const name of [...size.read, ...unsent, ...notForEachCall, ...refusedFields(capabilities)]) {
    if (name in upstreamFields) delete upstreamFields[name];
  }
  put(upstreamFields, "size", size.size);
  put(upstreamFields, "sequential_image_generation", sequential.sequential_image_generation);
  put(upstreamFields, "sequential_image_generation_options", sequential.sequential_image_generation_options);
  put(upstreamFields, "image", Array.isArray(parsed.image) ? images : images[0]);
  put(upstreamFields, "response_format", responseFormat);
  return {
    operation: context.operation,
    model: context.model,
    prompt: parsed.prompt ?? "",
    images,
    maxImages: upstreamCalls * batch * (1 + layers),
    maxLayers: upstreamCalls * batch * layers,
    ...(upstreamCalls > 1 && { upstreamCalls }),
    maxPixels,
    maxTokensPerImage: countMaxTokens(maxPixels),
    responseFormat: responseFormat ?? "url",
    stream: parsed.stream ?? false,
    ...(size.replacedSize !== undefined && { replacedSize: size.replacedSize }),
    upstreamFields,
    ignored: [...ignored, ...size.ignored],
  };
}

/** The fields that the provider refuses for this model with any value. They were checked before. */
function refusedFields({ streaming, sequentialImages }: Capabilities = {}): readonly string[] {
  return [
    ...(streaming === false ? ["stream"] : []),
    ...(sequentialImages === false
      ? ["sequential_image_generation", "sequential_image_generation_options"]
      : []),
  ];
}

function readImages(image: SeedreamFields["image"]): readonly ReferenceImage[] {
  if (image === undefined) return [];
  if (!Array.isArray(image)) return [toReferenceImage(image, "image", REFERENCE_MEDIA_TYPES)];
  return image.map((value, index) => toReferenceImage(value, `image[${index}]`, REFERENCE_MEDIA_TYPES));
}

/** Sets a field unless the value is `undefined`. */
function put(fields: JsonObject, name: string, value: unknown): void {
  if (value !== undefined) fields[name] = value;
}

/** Normalizes a body of the native endpoint. Only the fields that decide the charge are checked; Ark checks the others. */
export function normalizeNative(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const isDecomposed = fields["layer_decomposition"] === true;
  const parsed = parseFields(isDecomposed ? nativeLayersSchema : nativeRequestSchema, fields);
  const images = [parsed.image].flat().filter(isReferenceImage);
  // A model without this field refuses it, and the client gets the provider's message.
  const isRefused = context.capabilities?.sequentialImages === false;
  const most = readCallLimits(isRefused ? undefined : context.capabilities);
  const batch = countMaxImages(
    {
      sequential_image_generation: parsed.sequential_image_generation ?? undefined,
      sequential_image_generation_options: {
        max_images: parsed.sequential_image_generation_options?.max_images ?? undefined,
      },
    },
    images.length,
    most,
  );
  if (batch > most.images) {
    const param = "sequential_image_generation_options.max_images";
    throw invalidRequest(`${param} asks for ${batch} images; at most ${most.images} are allowed.`, param);
  }
  const layers = countLayersOfEach(isDecomposed, context);
  const maxPixels = countMaxPixels(fields["size"], context.capabilities);
  const { n, ...upstreamFields } = fields;
  return {
    operation: "native",
    model: context.model,
    prompt: parsed.prompt ?? "",
    images,
    maxImages: batch * (1 + layers),
    maxLayers: batch * layers,
    maxPixels,
    maxTokensPerImage: countMaxTokens(maxPixels),
    responseFormat: parsed.response_format === "b64_json" ? "b64_json" : "url",
    stream: parsed.stream ?? false,
    upstreamFields,
    ignored: n === undefined ? [] : ["n"],
  };
}

/**
 * For fields whose number the gateway reads, and fields that must be objects: a number may be a raw JSON object, see
 * `util/json.ts`.
 */
const plain = <Schema extends z.ZodMiniType>(schema: Schema) => z.pipe(z.transform(toPlainNumber), schema);

const string = z.string({
  error: (issue) => (issue.input === undefined ? "is required" : "must be a string"),
});
const integer = z.int("must be a whole number");
const wholeNumber = plain(integer);
const atLeastOne = plain(integer.check(z.minimum(1, "must be at least 1")));
const prompt = string.check(z.minLength(1, "must not be empty"));
const boolean = z.boolean("must be true or false");
const sequential = z.literal(["auto", "disabled"], 'must be "auto" or "disabled"');
const MAX_IMAGES_EXAMPLE = 'must be an object such as {"max_images": 4}';

/**
 * The schema of the fields that are interpreted here. All other fields are forwarded unchanged and are not in its
 * output. The messages are appended to the name of the field.
 */
export const seedreamRequestSchema = z.object({
  prompt,
  n: z.optional(wholeNumber),
  size: z.optional(string),
  response_format: z.optional(z.literal(["url", "b64_json"], 'must be "url" or "b64_json"')),
  output_format: z.optional(string),
  background: z.optional(string),
  watermark: z.optional(boolean),
  image: z.optional(imageList),
  seed: z.optional(wholeNumber),
  guidance_scale: z.optional(plain(z.number("must be a number"))),
  sequential_image_generation: z.optional(sequential),
  sequential_image_generation_options: z.optional(
    plain(z.looseObject({ max_images: z.optional(atLeastOne) }, MAX_IMAGES_EXAMPLE)),
  ),
  stream: z.optional(boolean),
  layer_decomposition: z.optional(boolean),
  optimize_prompt_options: z.optional(plain(z.looseObject({}, 'must be an object such as {"mode": "fast"}'))),
});

/** With layers, the prompt may be absent or empty. */
export const layersRequestSchema = z.extend(seedreamRequestSchema, { prompt: z.optional(string) });

/** The fields that the native endpoint interprets; `null` is forwarded like any other value. */
export const nativeRequestSchema = z.object({
  prompt,
  image: z.optional(z.unknown()),
  response_format: z.optional(z.unknown()),
  sequential_image_generation: z.nullish(sequential),
  sequential_image_generation_options: z.optional(
    plain(z.nullish(z.looseObject({ max_images: z.nullish(atLeastOne) }, MAX_IMAGES_EXAMPLE))),
  ),
  stream: z.nullish(boolean),
  layer_decomposition: z.nullish(boolean),
});

/** With layers, as {@link layersRequestSchema}. */
export const nativeLayersSchema = z.extend(nativeRequestSchema, { prompt: z.nullish(string) });

/** The interpreted fields after the check. */
type SeedreamFields = z.output<typeof seedreamRequestSchema>;
