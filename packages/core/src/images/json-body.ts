import type { JsonObject } from "../util/json.js";
import { encodeText } from "../util/utf8.js";
import { type BodyPart, createProducedBody, type ProducedBody } from "./produced-body.js";
import {
  stringifyUploads,
  toDataUrlPrefix,
  type UploadedImage,
  type WrittenForm,
} from "./reference-image.js";

/**
 * Writes an object as the JSON body of an upstream call. Uploads in it are written as data URLs while the body is sent,
 * one piece at a time, so no string of a whole image is created.
 */
export function toJsonBody(value: JsonObject): string | ProducedBody {
  const images: (readonly [image: UploadedImage, form: WrittenForm])[] = [];
  // A client cannot know this value, so it cannot send a string that would be taken for an image.
  let mark: string | undefined;
  const outline = stringifyUploads(value, (image, form) => {
    mark ??= crypto.randomUUID();
    return `${mark}[${images.push([image, form]) - 1}]`;
  });
  if (mark === undefined) return outline;
  // Strings alternate with indexes of images.
  const pieces = outline.split(new RegExp(`${mark}\\[(\\d+)\\]`));
  return createProducedBody(
    pieces.flatMap((piece, index): BodyPart[] => {
      if (index % 2 === 0) return [encodeText(piece)];
      const written = images[Number(piece)];
      return written === undefined ? [] : writeImage(...written);
    }),
  );
}

const COMMA = 0x2c;

function writeImage(image: UploadedImage, form: WrittenForm): BodyPart[] {
  const { dataUrl, mediaType } = image;
  if (dataUrl !== undefined)
    return [form === "data-url" ? dataUrl : dataUrl.subarray(dataUrl.indexOf(COMMA) + 1)];
  const base64 = { base64: image };
  return form === "data-url" ? [encodeText(toDataUrlPrefix(mediaType)), base64] : [base64];
}
