import { invalidRequest } from "../../errors.js";
import { type ReferenceImage, readMediaType } from "../../images/reference-image.js";
import { checkSize, type SizeStyle } from "../../images/size.js";
import type { BackgroundRules, Capabilities, LayerRules } from "../capabilities.js";
import { type ChosenSize, chooseNearestSize, isDefaultSize, type SizeFields } from "../choose-size.js";
import type { NormalizeContext } from "../family.js";
import { MAX_IMAGES, MAX_REFERENCES } from "./capabilities.js";
import {
  applyImageCount,
  type BatchLimits,
  countMaxImages,
  type SequentialFields,
} from "./sequential-images.js";

/** The fields that are checked against the row of a model. */
interface CheckedFields extends SequentialFields {
  readonly n?: number | undefined;
  readonly size?: string | undefined;
  readonly stream?: boolean | undefined;
  readonly output_format?: string | undefined;
  readonly background?: string | undefined;
  readonly layer_decomposition?: boolean | undefined;
}

/**
 * Checks the values of `stream`, `output_format`, `background` and `layer_decomposition`. What the row does not state is
 * not checked.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function checkModelFields(
  fields: CheckedFields,
  images: readonly ReferenceImage[],
  context: Pick<NormalizeContext, "operation" | "capabilities" | "streamFormat">,
): void {
  const { capabilities = {} } = context;
  if (fields.stream === true && context.streamFormat !== "openai") checkNativeStream(context);
  checkOutputFormat(fields, capabilities.outputFormats);
  if (fields.layer_decomposition === true) checkLayers(images, capabilities.layers);
  checkBackground(fields, images, capabilities.background);
}

/** In the native format the provider makes the stream. Its events are not those of edits. */
function checkNativeStream({
  operation,
  capabilities,
}: Pick<NormalizeContext, "operation" | "capabilities">): void {
  if (capabilities?.streaming === false) {
    throw invalidRequest("stream is not supported by this model: leave it out.", "stream");
  }
  if (operation === "edit") {
    throw invalidRequest(
      "stream is not offered at this endpoint: send JSON with image to /v1/images/generations.",
      "stream",
    );
  }
}

function checkOutputFormat({ output_format: format }: CheckedFields, formats?: readonly string[]): void {
  if (format === undefined || formats === undefined || includesIgnoringCase(formats, format)) return;
  throw invalidRequest(
    `output_format ${quote(format)} is not supported by this model: send ${listValues(formats)}.`,
    "output_format",
  );
}

/** Media types that Ark does not split into layers. */
const WITHOUT_LAYERS: ReadonlySet<string | undefined> = new Set(["image/heic", "image/heif"]);

function checkLayers(images: readonly ReferenceImage[], layers: Capabilities["layers"]): void {
  if (layers === undefined) return;
  if (layers === "none") {
    throw invalidRequest(
      "layer_decomposition is not supported by this model: leave it out.",
      "layer_decomposition",
    );
  }
  const [image] = images;
  if (image === undefined || images.length > 1) {
    throw invalidRequest(
      `layer_decomposition needs exactly one reference image, not ${images.length}.`,
      "image",
    );
  }
  if (WITHOUT_LAYERS.has(readMediaType(image))) {
    throw invalidRequest(`image is ${readMediaType(image)}, which has no layer_decomposition.`, "image");
  }
}

function checkBackground(
  fields: CheckedFields,
  images: readonly ReferenceImage[],
  rules: BackgroundRules | undefined,
): void {
  const { background } = fields;
  if (background === undefined || rules === undefined) return;
  if (!rules.values.includes(background)) {
    throw invalidRequest(
      `background ${quote(background)} is not supported by this model: send ${listValues(rules.values)}.`,
      "background",
    );
  }
  if (background !== "transparent") return;
  if (fields.layer_decomposition === true) {
    throw invalidRequest('background "transparent" is not possible with layer_decomposition.', "background");
  }
  if (fields.output_format?.toLowerCase() === "jpeg") {
    throw invalidRequest(
      'background "transparent" is not possible with output_format "jpeg": send "png".',
      "output_format",
    );
  }
  if (rules.transparentNeedsPng === true && !images.some(mayBePng)) {
    throw invalidRequest(
      'background "transparent" of this model needs a reference image: a PNG with an alpha channel.',
      "image",
    );
  }
}

/** True for a PNG and for a link, which may lead to one; the gateway does not fetch it. */
function mayBePng(image: ReferenceImage): boolean {
  return (readMediaType(image) ?? "image/png") === "image/png";
}

const SIZE_STYLE: SizeStyle = { separator: "x", param: "size" };

/**
 * Returns the size to send, if any. `auto` is sent only with layers, and only if the model's row lists it for them.
 *
 * @throws GatewayError `invalid_request_error` that lists what is allowed
 */
export function readSize(
  fields: CheckedFields & SizeFields,
  { capabilities, sizes }: Pick<NormalizeContext, "capabilities" | "sizes">,
): ChosenSize {
  const isDecomposed = fields.layer_decomposition === true;
  const presets = isDecomposed ? findLayerRules(capabilities)?.sizes : undefined;
  if (fields.size !== undefined && isDefaultSize(fields.size) && presets?.includes(fields.size)) {
    return { size: fields.size, read: [], ignored: [] };
  }
  const limits = presets === undefined ? capabilities?.size : { presets };
  const chosen = sizes === "nearest" ? chooseNearestSize(fields, limits) : toStrictSize(fields);
  if (chosen.size === undefined || limits === undefined) return chosen;
  if (limits === "none") throw invalidRequest("size is not supported by this model: leave it out.", "size");
  checkSize(chosen.size, limits, SIZE_STYLE);
  return chosen;
}

function toStrictSize({ size }: CheckedFields): ChosenSize {
  return { size: isDefaultSize(size) ? undefined : size, read: [], ignored: [] };
}

function findLayerRules(capabilities: Capabilities | undefined): LayerRules | undefined {
  return capabilities?.layers === "none" ? undefined : capabilities?.layers;
}

/**
 * Returns the fields for several images. For a model that refuses them, they are omitted if they request one image,
 * which is what the model makes anyway.
 *
 * @throws GatewayError `invalid_request_error` if they request more images from such a model
 */
export function readSequential(
  fields: CheckedFields,
  capabilities: Capabilities | undefined,
): SequentialFields {
  if (capabilities?.sequentialImages !== false) return applyImageCount(fields.n, fields);
  const { sequential_image_generation: mode, sequential_image_generation_options: options } = fields;
  const instead = "this model makes one image per call: leave it out.";
  if (mode === "auto") {
    const param = "sequential_image_generation";
    throw invalidRequest(`${param} "auto" is not supported: ${instead}`, param);
  }
  if (mode === undefined && (options?.max_images ?? 1) > 1) {
    const param = "sequential_image_generation_options.max_images";
    throw invalidRequest(`${param} above 1 is not supported: ${instead}`, param);
  }
  return {};
}

/** The number of images that one call requests. `sequential` is what {@link readSequential} returned. */
export function countBatch(
  fields: CheckedFields,
  sequential: SequentialFields,
  references: number,
  capabilities: Capabilities | undefined,
): number {
  if (capabilities?.sequentialImages !== false) {
    return countMaxImages(sequential, references, readCallLimits(capabilities));
  }
  return fields.sequential_image_generation === "disabled" ? 1 : Math.max(1, fields.n ?? 1);
}

/** Checked before the images are read: a request may have tens of thousands. */
export function checkReferences(references: number, capabilities: Capabilities | undefined): void {
  const maxReferences = capabilities?.references?.max ?? MAX_REFERENCES;
  const minReferences = capabilities?.references?.min ?? 0;
  if (references < minReferences) {
    throw invalidRequest(
      `image holds ${references} reference images; this model needs ${minReferences}.`,
      "image",
    );
  }
  if (references > maxReferences) {
    throw invalidRequest(
      `image holds ${references} reference images; at most ${maxReferences} are allowed.`,
      "image",
    );
  }
}

/** @param maxImages the largest number of images that one call may request */
export function checkCounts(
  references: number,
  maxImages: number,
  fields: CheckedFields,
  capabilities: Capabilities | undefined,
): void {
  const param = findCountParam(fields);
  const most = readCallLimits(capabilities);
  if (maxImages > most.images) {
    throw invalidRequest(`${param} asks for ${maxImages} images; at most ${most.images} are allowed.`, param);
  }
  if (references + maxImages > most.imagesAndReferences) {
    throw invalidRequest(
      `${references} reference images and ${maxImages} images to make are more than the ${most.imagesAndReferences} allowed together.`,
      param,
    );
  }
}

/** The field that decides how many images there are: `image` if the client asks for no number of images to make. */
function findCountParam({ n = 1, sequential_image_generation_options: options }: CheckedFields): string {
  if (options?.max_images !== undefined) return "sequential_image_generation_options.max_images";
  return n > 1 ? "n" : "image";
}

/** The most images of one call. A model that refuses the fields for several images makes one. */
export function readCallLimits({
  sequentialImages,
  imagesPerCall = MAX_IMAGES,
  maxReferencesAndImages = MAX_IMAGES,
}: Capabilities = {}): BatchLimits {
  return {
    images: sequentialImages === false ? 1 : imagesPerCall,
    imagesAndReferences: maxReferencesAndImages,
  };
}

function includesIgnoringCase(values: readonly string[], value: string): boolean {
  return values.some((other) => other.toLowerCase() === value.toLowerCase());
}

function listValues(values: readonly string[]): string {
  return values.map((value) => `"${value}"`).join(" or ");
}

/** A client's value in a message. */
function quote(value: string): string {
  return JSON.stringify(value.slice(0, 32));
}
