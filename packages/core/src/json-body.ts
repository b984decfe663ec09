import { encodeBase64, toBase64Length } from "./bytes/encode-base64.js";
import type { JsonObject } from "./json.js";
import { type ChunksOptions, dataUrlPrefix, stringifyUploads, type UploadedImage } from "./uploaded-image.js";
import type { ProducedBody } from "./upstream-call.js";

/**
 * An object as the JSON of a call. Where the files of a form stand in it, they are written as data URLs piece by
 * piece while the body is sent, and data URLs that came as bytes go as those, so that no text of a whole image is ever
 * made.
 */
export function toJsonBody(value: JsonObject): string | ProducedBody {
  const images: UploadedImage[] = [];
  // A client cannot know this value, so it cannot send a string that would be taken for an image.
  let mark = "";
  const outline = stringifyUploads(value, (image) => {
    mark ||= crypto.randomUUID();
    return `${writePrefix(image)}${mark}[${images.push(image) - 1}]`;
  });
  if (images.length === 0) return outline;
  // Strings alternate with numbers of images.
  const pieces = outline.split(new RegExp(`${mark}\\[(\\d+)\\]`));
  return toProducedBody(
    pieces.map((piece, index) => (index % 2 === 0 ? piece : images[Number(piece)])).filter(isPresent),
  );
}

function writePrefix({ dataUrl, mediaType }: UploadedImage): string {
  return dataUrl === undefined ? dataUrlPrefix(mediaType) : "";
}

function isPresent<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function toProducedBody(texts: readonly (string | UploadedImage)[]): ProducedBody {
  const encoder = new TextEncoder();
  const parts = texts.map((part) =>
    typeof part === "string" ? encoder.encode(part) : (part.dataUrl ?? part),
  );
  const lengths = parts.map((part) =>
    part instanceof Uint8Array ? part.length : toBase64Length(part.byteLength),
  );
  return {
    byteLength: lengths.reduce((sum, length) => sum + length, 0),
    [Symbol.asyncIterator]: () => produce(parts),
    chunks: (options) => produce(parts, options),
  };
}

async function* produce(
  parts: readonly (Uint8Array | UploadedImage)[],
  options?: ChunksOptions,
): AsyncGenerator<Uint8Array, void> {
  for (const part of parts) {
    if (part instanceof Uint8Array) yield part;
    else yield* encodeBase64(part.chunks({ reuse: true }), options);
  }
}
