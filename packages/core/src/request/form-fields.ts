import { type GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import { createUploadedImage, detectMediaType, type ReferenceImage } from "../images/reference-image.js";
import type { SpooledFile } from "../images/spooled-file.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { BODY_LIMITS, parseJson } from "./parse-json.js";

/** One part of a form. */
export type FormPart =
  | { readonly name: string; readonly text: string }
  | { readonly name: string; readonly file: SpooledFile };

const IMAGE_NAME = /^image(?:\[(\d*)\])?$/;

/**
 * A form's parts as the fields of a JSON body: images in `image`, in the order that counts, and
 * scalars with their types.
 *
 * @throws GatewayError `invalid_request_error`: a missing model or image, a file that is no image, a
 * field given twice
 */
export function toFormFields(parts: readonly FormPart[]): JsonObject {
  const fields: JsonObject = {};
  for (const part of parts.filter(({ name }) => !IMAGE_NAME.test(name))) {
    if ("file" in part && part.name !== "mask") {
      throw invalidRequest(
        `The form has a file in ${part.name}: send images as image, image[] or image[n].`,
        part.name,
      );
    }
    addField(fields, part.name, "text" in part ? part.text : "");
  }
  if (fields["model"] === undefined || fields["model"] === "")
    throw invalidRequest("model is required", "model");
  const image = sortImages(parts).map(toImage);
  if (image.length === 0 && fields["mask"] === undefined) throw invalidRequest("image is required", "image");
  return { ...fields, image };
}

/** `image[n]` by number, then the others as they were sent. */
function sortImages(parts: readonly FormPart[]): readonly FormPart[] {
  const images = parts
    .filter(({ name }) => IMAGE_NAME.test(name))
    .map((part) => ({ part, place: placeOf(part.name) }));
  return images.toSorted((a, b) => a.place - b.place).map(({ part }) => part);
}

function placeOf(name: string): number {
  const index = IMAGE_NAME.exec(name)?.[1] ?? "";
  return index === "" ? Number.MAX_VALUE : Number(index);
}

/** The URL that a text part holds, or a file; its type is what its bytes show. */
function toImage(part: FormPart): ReferenceImage {
  if ("text" in part) return part.text;
  const mediaType = detectMediaType(part.file.head);
  if (mediaType === undefined) {
    const what = part.file.byteLength === 0 ? "is empty" : "is no image that is known here";
    throw invalidRequest(
      `The file in ${part.name} ${what}: send PNG, JPEG, WebP, GIF, BMP, TIFF or HEIC.`,
      part.name,
    );
  }
  return createUploadedImage(mediaType, part.file);
}

const NUMBERS: ReadonlySet<string> = new Set(["n", "seed", "guidance_scale"]);
const BOOLEANS: ReadonlySet<string> = new Set(["watermark", "stream", "layer_decomposition"]);
const OBJECTS: ReadonlySet<string> = new Set([
  "sequential_image_generation_options",
  "optimize_prompt_options",
]);

/** Adds a field; `options[max_images]` is how clients write a field of an object in a form. */
function addField(fields: JsonObject, name: string, text: string): void {
  const [, object, key] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
  if (object !== undefined && key !== undefined && OBJECTS.has(object)) {
    const value = Object.hasOwn(fields, object) ? fields[object] : {};
    if (!isJsonObject(value)) throw givenTwice(object);
    define(value, key, toNumber(text), name);
    fields[object] = value;
  } else {
    define(fields, name, toValue(name, text), name);
  }
}

function define(target: JsonObject, key: string, value: unknown, name: string): void {
  if (Object.hasOwn(target, key)) throw givenTwice(name);
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

function givenTwice(name: string): GatewayError {
  return invalidRequest(`The form has the field ${name} twice.`, name);
}

/** What stays a text here although it should be a number is refused where the field is checked. */
function toValue(name: string, text: string): unknown {
  if (NUMBERS.has(name)) return toNumber(text);
  if (BOOLEANS.has(name)) return toBoolean(text);
  return OBJECTS.has(name) ? toObject(name, text) : text;
}

function toNumber(text: string): number | string {
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function toBoolean(text: string): boolean | string {
  if (text === "true") return true;
  return text === "false" ? false : text;
}

/** The limits of an object in a field. */
const OBJECT_LIMITS = { ...BODY_LIMITS, maxValues: 1_000 };

function toObject(name: string, text: string): unknown {
  try {
    return parseJson(text, OBJECT_LIMITS);
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw invalidRequest(`${name} must be a JSON object, such as {"max_images": 4}.`, name);
  }
}
