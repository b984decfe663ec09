import { type GatewayError, invalidRequest } from "../errors.js";
import type { FieldTypes } from "../families/family.js";
import { ADVICE, isReferenceImage } from "../families/shared.js";
import { isUploadedImage, type ReferenceImage, toReferenceImage } from "../images/reference-image.js";
import type { Operation } from "../types.js";
import { isJsonObject, type JsonObject } from "../util/json.js";

const NAMES = ["mask", "markup"] as const;

/**
 * Reads `mask` and `markup`: files of a form, links, data URLs, or `{ image_url }` as in OpenAI's JSON. A family that does
 * not list them as images does not get them: without them, the wrong part of the image would be changed.
 *
 * @returns the fields with a reference image in each of the two that the client sent
 * @throws GatewayError `invalid_request_error` for a field that the family does not take, a value that is not an image, and
 *   an edit without a reference image
 */
export function readImageFields(
  fields: JsonObject,
  types: FieldTypes,
  operation: Exclude<Operation, "native">,
): JsonObject {
  const given = Object.keys(fields).filter((field) => field.startsWith("mask") || field.startsWith("markup"));
  if (given.length === 0) return fields;
  const found = NAMES.filter((name) => given.some((field) => field.replace(/\[.*$/s, "") === name));
  if (found.length === 0) return fields;
  const refused = found.find((name) => types[name] !== "image");
  if (refused !== undefined)
    throw invalidRequest(`${refused} is not supported: ${ADVICE[refused]}.`, refused);
  // `needsImage` in form-fields.ts left this check to the family's rules for masks.
  const { image } = fields;
  const isEmpty = image === undefined || (Array.isArray(image) && image.length === 0);
  if (operation === "edit" && isEmpty) throw invalidRequest("image is required", "image");
  return { ...fields, ...Object.fromEntries(found.map((name) => [name, readImage(fields[name], name)])) };
}

const MASK_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

function readImage(value: unknown, name: string): ReferenceImage {
  if (isReferenceImage(value)) return checkImage(value, name);
  if (!isJsonObject(value)) throw notAnImage(name);
  const { image_url: link, file_id: file } = value;
  if (file !== undefined && file !== null) {
    const param = `${name}.file_id`;
    throw invalidRequest(`${param} is not supported: send image_url, a link or a data URL.`, param);
  }
  if (!isReferenceImage(link)) throw notAnImage(name);
  return checkImage(link, `${name}.image_url`);
}

function checkImage(image: ReferenceImage, param: string): ReferenceImage {
  if (isUploadedImage(image) && image.byteLength === 0)
    throw invalidRequest(`The file in ${param} is empty.`, param);
  return toReferenceImage(image, param, MASK_TYPES);
}

function notAnImage(name: string): GatewayError {
  return invalidRequest(`${name} must be an image: a file, a link or a data URL.`, name);
}
