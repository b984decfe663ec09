import { type GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import type { FieldTypes } from "../families/family.js";
import { createUploadedImage, detectMediaType, type ReferenceImage } from "../images/reference-image.js";
import type { SpooledFile } from "../images/spooled-file.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { parseJsonObject } from "./json.js";

/** One part of a form. */
export type FieldPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly file: SpooledFile };

const IMAGE_NAME = /^image(?:\[(\d*)\])?$/;

/**
 * Converts the parts of a form to fields: the images to a list in `image`, everything else to strings.
 *
 * @throws GatewayError `invalid_request_error` for a missing model or image, a file that is not an image, or a field
 *   that is given twice
 */
export function toFormFields(parts: readonly FieldPart[]): JsonObject {
  const fields: JsonObject = {};
  for (const part of parts.filter(({ name }) => !IMAGE_NAME.test(name))) {
    if ("file" in part && !isOtherImage(part.name)) {
      throw invalidRequest(
        `The form has a file in ${part.name}: send images as image, image[] or image[n].`,
        part.name,
      );
    }
    define(fields, part.name, "value" in part ? part.value : toUpload(part.file));
  }
  if (fields["model"] === undefined || fields["model"] === "") {
    throw invalidRequest("model is required", "model");
  }
  const image = sortImages(parts).map(toImage);
  if (image.length === 0 && needsImage(fields)) throw invalidRequest("image is required", "image");
  return { ...fields, image };
}

/** The images of an edit besides the reference images. */
const OTHER_IMAGES: readonly string[] = ["mask", "markup"];

function isOtherImage(name: string): boolean {
  return OTHER_IMAGES.includes(name);
}

/** Whether the family takes such an image, and which types, is not known yet. */
function toUpload(file: SpooledFile): ReferenceImage {
  return createUploadedImage(detectMediaType(file.head) ?? "application/octet-stream", file);
}

/**
 * False if the family may refuse the fields anyway, so that the client gets that error first. `readImageFields` then finds out
 * that the image is missing.
 */
export function needsImage(fields: JsonObject): boolean {
  return OTHER_IMAGES.every((name) => fields[name] === undefined);
}

/**
 * Converts the strings of a form to the types that they have in JSON. A string that does not look like its type stays a
 * string, which the family refuses. A field of an object may have a part of its own: `options[max_images]`.
 *
 * @throws GatewayError `invalid_request_error` for an object that is not JSON, or that is given twice
 */
export function convertFormFields(fields: JsonObject, types: FieldTypes): JsonObject {
  const converted: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    const [, object, key] = /^(\w+)\[(\w+)\]$/.exec(name) ?? [];
    if (object !== undefined && key !== undefined && types[object] === "object") {
      if (!Object.hasOwn(converted, object)) converted[object] = {};
      const target = converted[object];
      if (!isJsonObject(target)) throw givenTwice(object);
      define(target, key, typeof value === "string" ? toScalar(value) : value, name);
    } else {
      define(converted, name, typeof value === "string" ? convert(name, value, types) : value);
    }
  }
  return converted;
}

/** Returns `image[n]` in the order of n, then the other images in the order of the form. */
function sortImages(parts: readonly FieldPart[]): readonly FieldPart[] {
  const images = parts
    .filter(({ name }) => IMAGE_NAME.test(name))
    .map((part) => ({ part, index: readIndex(part.name) }));
  return images.toSorted((a, b) => a.index - b.index).map(({ part }) => part);
}

function readIndex(name: string): number {
  const index = IMAGE_NAME.exec(name)?.[1] ?? "";
  return index === "" ? Number.MAX_VALUE : Number(index);
}

/** A part without a file holds a URL. The type of a file is detected from its bytes. */
function toImage(part: FieldPart): ReferenceImage {
  if ("value" in part) return part.value;
  const mediaType = detectMediaType(part.file.head);
  if (mediaType !== undefined) return createUploadedImage(mediaType, part.file);
  const problem = part.file.byteLength === 0 ? "is empty" : "is not a supported image";
  throw invalidRequest(
    `The file in ${part.name} ${problem}: send PNG, JPEG, WebP, GIF, BMP, TIFF or HEIC.`,
    part.name,
  );
}

/** Sets a field, also one named `__proto__`. */
function define(target: JsonObject, key: string, value: unknown, name = key): void {
  if (Object.hasOwn(target, key)) throw givenTwice(name);
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

function givenTwice(name: string): GatewayError {
  return invalidRequest(`The form has the field ${name} twice.`, name);
}

function convert(name: string, value: string, types: FieldTypes): unknown {
  // Own properties only: a client may send a field named `constructor`.
  const type = Object.hasOwn(types, name) ? types[name] : undefined;
  switch (type) {
    case "number":
      return toNumber(value);
    case "boolean":
      return toBoolean(value);
    case "object":
      return toObject(name, value);
    case "list":
      return toList(name, value);
    case "image":
    case undefined:
      return value;
  }
}

/** A value of an object's part, whose type nothing says. */
function toScalar(value: string): number | boolean | string {
  const converted = toBoolean(value);
  return typeof converted === "string" ? toNumber(converted) : converted;
}

function toBoolean(value: string): boolean | string {
  return value === "true" || (value === "false" ? false : value);
}

function toNumber(value: string): number | string {
  return /^-?\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
}

/** The limits of an object in a field. */
const OBJECT_LIMITS = { maxDepth: 32, maxValues: 1_000 };

function toObject(name: string, value: string): JsonObject | null {
  if (value === "null") return null;
  try {
    return parseJsonObject(new TextEncoder().encode(value), OBJECT_LIMITS);
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw invalidRequest(`${name} must be a JSON object, such as {"max_images": 4}.`, name);
  }
}

/** A list is read as the only field of an object, so that the limits of objects apply. */
function toList(name: string, value: string): unknown {
  if (value === "null") return null;
  try {
    const object = parseJsonObject(new TextEncoder().encode(`{"list":${value}}`), OBJECT_LIMITS);
    if (Array.isArray(object["list"]) && Object.keys(object).length === 1) return object["list"];
  } catch (error) {
    if (isGatewayError(error)) throw error;
  }
  throw invalidRequest(`${name} must be a JSON list.`, name);
}
