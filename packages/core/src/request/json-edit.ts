import { type GatewayError, invalidRequest } from "../errors.js";
import { isReferenceImage } from "../families/shared.js";
import type { ReferenceImage } from "../images/reference-image.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { needsImage } from "./form-fields.js";

/**
 * Converts the JSON body of an edit, as OpenAI describes it, to the fields that a form has: the links and data URLs of
 * `images` become the list `image`. A client may also send `image` itself, one reference image or a list of them.
 *
 * @throws GatewayError `invalid_request_error` for a missing model or image, and for an image that is not a link or a
 *   data URL
 */
export function toEditFields(body: JsonObject): JsonObject {
  const { images: list, ...fields } = body;
  if (isAbsent(fields["model"]) || fields["model"] === "") throw invalidRequest("model is required", "model");
  const images = isAbsent(list) ? undefined : readImages(list);
  if (images !== undefined && !isAbsent(fields["image"])) {
    throw invalidRequest("The body has image and images: send one of them.", "images");
  }
  const image = images ?? fields["image"];
  const isEmpty = isAbsent(image) || (Array.isArray(image) && image.length === 0);
  if (isEmpty && needsImage(fields)) throw invalidRequest("image is required", "image");
  return images === undefined ? fields : { ...fields, image };
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function readImages(list: unknown): readonly ReferenceImage[] {
  if (Array.isArray(list)) return list.map(readImage);
  throw invalidRequest(`images must be a list such as ${EXAMPLE}.`, "images");
}

const EXAMPLE = '[{"image_url": "https://example.com/a.png"}]';

function readImage(item: unknown, index: number): ReferenceImage {
  if (isReferenceImage(item)) return item;
  if (!isJsonObject(item)) throw notAnImage(`images[${index}]`);
  if (!isAbsent(item["file_id"])) {
    const param = `images[${index}].file_id`;
    throw invalidRequest(`${param} is not supported: send image_url, a link or a data URL.`, param);
  }
  const { image_url: link } = item;
  if (isReferenceImage(link)) return link;
  throw notAnImage(`images[${index}].image_url`);
}

function notAnImage(param: string): GatewayError {
  return invalidRequest(`${param} must be a link or a data URL: send ${EXAMPLE}.`, param);
}
