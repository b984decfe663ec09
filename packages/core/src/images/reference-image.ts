import { Buffer } from "node:buffer";
import { type GatewayError, invalidRequest } from "../errors.js";
import type { JsonObject } from "../util/json.js";
import { type Chunks, lendChunks, setLender } from "./lend-chunks.js";

/** A reference image: an `http(s)` URL, a data URL, or an upload. */
export type ReferenceImage = string | UploadedImage;

const MARK = Symbol.for("calotype.UploadedImage");

/**
 * A reference image that came as the file of a form, or as a long data URL in JSON. Its bytes stay as they came; those
 * of a file become base64 while they are sent. They can be read until the request is over.
 */
export interface UploadedImage {
  /** Detected from the first bytes of a file, or written in the data URL; for example `image/png`. */
  readonly mediaType: string;
  readonly byteLength: number;
  /** The bytes in order, in pieces of any size. Each call starts again. */
  chunks(): Chunks;
  /** Its data URL in ASCII, if it came as one. It is sent unchanged. */
  readonly dataUrl?: Uint8Array | undefined;
  /** Returns the image as a data URL, so that `JSON.stringify` writes one. Takes several times the image's memory. */
  toJSON(): string;
  /** Marks uploads across copies of this package. */
  readonly [MARK]: true;
}

/** The stored bytes of an image. */
export interface ImageBytes {
  readonly byteLength: number;
  /** The bytes in order, in pieces of any size. Each call starts again. */
  chunks(): Chunks;
  /** The same bytes for callers that cannot wait. Reading a temporary file blocks the process. */
  chunksSync(): Iterable<Uint8Array>;
}

/** Creates an image from the stored bytes of a file, or of a data URL, which is then passed too. */
export function createUploadedImage(
  mediaType: string,
  bytes: ImageBytes,
  dataUrl?: Uint8Array,
): UploadedImage {
  const image: UploadedImage = {
    mediaType,
    byteLength: bytes.byteLength,
    chunks: () => bytes.chunks(),
    dataUrl,
    toJSON: () =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A string for everyone but `stringifyUploads`.
      writeUpload === undefined ? toDataUrl(image, bytes) : (writeUpload(image, "data-url") as string),
    [MARK]: true,
  };
  setLender(image, () => lendChunks(bytes));
  return image;
}

function toDataUrl({ mediaType, dataUrl }: UploadedImage, bytes: ImageBytes): string {
  if (dataUrl !== undefined) return asciiToString(dataUrl);
  return toDataUrlPrefix(mediaType) + Buffer.concat([...bytes.chunksSync()]).toString("base64");
}

/** How an upload is written in JSON: as a data URL, or as the base64 after its comma. */
export type WrittenForm = "data-url" | "base64";

type UploadWriter = (image: UploadedImage, form: WrittenForm) => unknown;

/** An image that is written in JSON as base64, without the beginning of a data URL. */
export interface Base64Image {
  /** Returns the base64. Takes several times the image's memory. */
  toJSON(): string;
}

/**
 * Wraps an image for the `json` of a call whose provider takes base64 without `data:…;base64,`. In JSON it is a string.
 *
 * @param image an upload or a data URL; a link has no bytes
 */
export function toBase64(image: string): string;
export function toBase64(image: ReferenceImage): string | Base64Image;
export function toBase64(image: ReferenceImage): string | Base64Image {
  if (!isUploadedImage(image)) return withoutPrefix(image);
  return {
    toJSON: () =>
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A string for everyone but `stringifyUploads`.
      writeUpload === undefined ? withoutPrefix(image.toJSON()) : (writeUpload(image, "base64") as string),
  };
}

/**
 * Returns the bytes of a data URL in base64.
 *
 * @throws TypeError for a link, which has no bytes
 */
export function decodeDataUrl(dataUrl: string): Uint8Array<ArrayBuffer> {
  return Buffer.from(withoutPrefix(dataUrl), "base64");
}

function withoutPrefix(dataUrl: string): string {
  const comma = dataUrl.indexOf(",");
  if (comma < 0 || !dataUrl.startsWith("data:")) throw new TypeError("A link to an image has no base64.");
  return dataUrl.slice(comma + 1);
}

/** What `toJSON` of an upload returns while {@link stringifyUploads} runs. */
let writeUpload: UploadWriter | undefined;

/**
 * `JSON.stringify` with the result of `write` in the place of each upload. It visits each value once; searching for
 * uploads first would visit the whole body twice.
 */
export function stringifyUploads(
  value: unknown,
  write: UploadWriter,
  replace?: (key: string, value: unknown) => unknown,
): string {
  writeUpload = write;
  try {
    return JSON.stringify(value, replace);
  } finally {
    writeUpload = undefined;
  }
}

/** True for an upload. Nothing that `JSON.parse` returns is one. */
export function isUploadedImage(value: unknown): value is UploadedImage {
  return typeof value === "object" && value !== null && MARK in value;
}

/** The part of a data URL before the base64. */
export function toDataUrlPrefix(mediaType: string): string {
  return `data:${mediaType};base64,`;
}

/** Decodes ASCII without a copy of its bytes. */
export function asciiToString(ascii: Uint8Array): string {
  return Buffer.from(ascii.buffer, ascii.byteOffset, ascii.length).toString("latin1");
}

/** Replaces each upload in a JSON value. Returns the same value if it contains none. */
export function replaceUploads(value: JsonObject, replace: UploadWriter): JsonObject;
export function replaceUploads(value: unknown, replace: UploadWriter): unknown;
export function replaceUploads(value: unknown, replace: UploadWriter): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (isUploadedImage(value)) return replace(value, "data-url");
  let copy: Record<PropertyKey, unknown> | unknown[] | undefined;
  for (const [name, item] of Object.entries(value)) {
    const replaced = replaceUploads(item, replace);
    if (replaced === item) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    Object.assign(copy, { [name]: replaced });
  }
  return copy ?? value;
}

/** True for an image that is a link, which some services open themselves. */
export function isLink(image: ReferenceImage): image is string {
  return typeof image === "string" && /^https?:/i.test(image);
}

const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64,/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Checks a reference image. An `http(s)` URL is returned unchanged, a data URL with its media type in lower case. Of a
 * data URL the media type and the alphabet are checked, of an upload the media type. The content is not checked, and
 * nothing is downloaded.
 *
 * @throws GatewayError `invalid_request_error` with `param`
 */
export function toReferenceImage(value: string, param: string, mediaTypes: ReadonlySet<string>): string;
export function toReferenceImage(
  value: ReferenceImage,
  param: string,
  mediaTypes: ReadonlySet<string>,
): ReferenceImage;
export function toReferenceImage(
  value: ReferenceImage,
  param: string,
  mediaTypes: ReadonlySet<string>,
): ReferenceImage {
  if (isUploadedImage(value)) {
    if (!mediaTypes.has(value.mediaType)) throw wrongMediaType(value.mediaType, param, mediaTypes);
    return value;
  }
  if (/^data:/i.test(value.slice(0, 5))) return checkDataUrl(value, param, mediaTypes);
  if (/^https?:\/\//i.test(value.slice(0, 8)) && URL.canParse(value)) return value;
  throw invalidRequest(
    `${param} must be a public http or https URL, or a data URL such as data:image/png;base64,<base64>.`,
    param,
  );
}

/** The media type of a checked reference image, such as `image/png`. `undefined` for a link, which is never fetched. */
export function readMediaType(image: ReferenceImage): string | undefined {
  return isUploadedImage(image) ? image.mediaType : DATA_URL.exec(image.slice(0, 128))?.[1];
}

function checkDataUrl(value: string, param: string, mediaTypes: ReadonlySet<string>): string {
  const header = DATA_URL.exec(value.slice(0, 128));
  const mediaType = header?.[1]?.toLowerCase();
  if (header === null || mediaType === undefined) {
    throw invalidRequest(`${param} must have the form data:image/<format>;base64,<base64>.`, param);
  }
  if (!mediaTypes.has(mediaType)) throw wrongMediaType(mediaType, param, mediaTypes);
  const content = value.slice(header[0].length);
  if (!BASE64.test(content)) throw invalidRequest(`${param} holds characters that are not base64.`, param);
  return toDataUrlPrefix(mediaType) + content;
}

function wrongMediaType(mediaType: string, param: string, mediaTypes: ReadonlySet<string>): GatewayError {
  return invalidRequest(`${param} is ${mediaType}; send one of ${[...mediaTypes].join(", ")}.`, param);
}

/** `start` matches the first bytes of an image as Latin-1. */
const SIGNATURES: readonly { readonly mediaType: string; readonly start: RegExp }[] = [
  { mediaType: "image/png", start: /^\x89PNG\r\n/ },
  { mediaType: "image/jpeg", start: /^\xff\xd8\xff/ },
  { mediaType: "image/webp", start: /^RIFF.{4}WEBP/s },
  { mediaType: "image/gif", start: /^GIF8/ },
  { mediaType: "image/bmp", start: /^BM/ },
  { mediaType: "image/tiff", start: /^(?:II\*\0|MM\0\*)/ },
  { mediaType: "image/heic", start: /^.{4}ftyp(?:heic|heix|hevc|hevx)/s },
  { mediaType: "image/heif", start: /^.{4}ftyp(?:mif1|msf1)/s },
];

/** The media type that the first bytes of an image show. `undefined` for anything else. */
export function detectMediaType(bytes: Uint8Array): string | undefined {
  const start = asciiToString(bytes.subarray(0, 16));
  return SIGNATURES.find((signature) => signature.start.test(start))?.mediaType;
}
