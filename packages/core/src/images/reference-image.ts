import { Buffer } from "node:buffer";
import { type GatewayError, invalidRequest } from "../errors.js";
import type { JsonObject } from "../util/json.js";

/** How the bytes of an upload are read. */
export interface ChunksOptions {
  /** True where a chunk is done with when the next one is asked for, so that its memory may be used again. */
  readonly reuse?: boolean | undefined;
}

/** Bytes that came from a client and are kept until its request is over, in memory or in a file. */
export interface KeptBytes {
  readonly byteLength: number;
  /** The bytes in order, in pieces of any size; each call begins anew. */
  chunks(options?: ChunksOptions): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** The same for those who cannot wait; a file is read while everybody else does. */
  chunksSync(): Iterable<Uint8Array>;
}

const MARK = Symbol.for("calotype.UploadedImage");

/**
 * A reference image that came as a file of a form, or as a long data URL in JSON. Its bytes are kept as they came;
 * those of a file become base64 as they are sent. They can be read until the request is over.
 */
export interface UploadedImage {
  /** What its first bytes show, such as `image/png`. */
  readonly mediaType: string;
  readonly byteLength: number;
  /** The bytes in order, in pieces of any size; each call begins anew. */
  chunks(options?: ChunksOptions): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
  /** Its data URL in ASCII, where it came as one: it is sent as it came. */
  readonly dataUrl?: Uint8Array | undefined;
  /** All of it as a data URL, so that `JSON.stringify` writes one. Takes several times the memory of the image. */
  toJSON(): string;
  /** Marks uploads across copies of the package. */
  readonly [MARK]: true;
}

/** A reference image: an `http(s)` URL, a data URL, or what came as bytes. */
export type ReferenceImage = string | UploadedImage;

/** Writes the uploads while {@link stringifyUploads} runs. */
let writeUpload: UploadWriter | undefined;

type UploadWriter = (image: UploadedImage) => unknown;

/** Creates an image from the stored bytes of a form's file, or of a data URL, which is then passed too. */
export function createUploadedImage(
  mediaType: string,
  bytes: KeptBytes,
  dataUrl?: Uint8Array,
): UploadedImage {
  const image: UploadedImage = {
    mediaType,
    byteLength: bytes.byteLength,
    chunks: (options) => bytes.chunks(options),
    dataUrl,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A string for everyone but `stringifyUploads`.
    toJSON: () => (writeUpload === undefined ? writeDataUrl(image, bytes) : (writeUpload(image) as string)),
    [MARK]: true,
  };
  return image;
}

function writeDataUrl({ mediaType, dataUrl }: UploadedImage, bytes: KeptBytes): string {
  if (dataUrl !== undefined) return toText(dataUrl);
  return dataUrlPrefix(mediaType) + Buffer.concat([...bytes.chunksSync()]).toString("base64");
}

function toText(ascii: Uint8Array): string {
  return Buffer.from(ascii.buffer, ascii.byteOffset, ascii.length).toString("latin1");
}

/**
 * Returns the JSON of a value, with the result of `write` in the place of each upload. This takes one native pass:
 * searching for uploads first would visit each value of the body in JavaScript.
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

/** True for what came as bytes; of what `JSON.parse` gives nothing is one. */
export function isUploadedImage(value: unknown): value is UploadedImage {
  return typeof value === "object" && value !== null && MARK in value;
}

/** What stands in a data URL before the base64. */
export function dataUrlPrefix(mediaType: string): string {
  return `data:${mediaType};base64,`;
}

/** Replaces each upload in a JSON value. Returns the same value if it contains none. */
export function replaceUploads(value: JsonObject, replace: UploadWriter): JsonObject;
export function replaceUploads(value: unknown, replace: UploadWriter): unknown;
export function replaceUploads(value: unknown, replace: UploadWriter): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (isUploadedImage(value)) return replace(value);
  let copy: Record<PropertyKey, unknown> | unknown[] | undefined;
  for (const [name, item] of Object.entries(value)) {
    const replaced = replaceUploads(item, replace);
    if (replaced === item) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    Object.assign(copy, { [name]: replaced });
  }
  return copy ?? value;
}

interface Signature {
  readonly mediaType: string;
  /** Where it stands in the file. */
  readonly at: number;
  readonly bytes: string;
  /** What the file begins with, where that is something else. */
  readonly container?: string;
}

const SIGNATURES: readonly Signature[] = [
  { mediaType: "image/png", at: 0, bytes: "\x89PNG\r\n\x1a\n" },
  { mediaType: "image/jpeg", at: 0, bytes: "\xff\xd8\xff" },
  { mediaType: "image/webp", at: 8, bytes: "WEBP", container: "RIFF" },
  { mediaType: "image/gif", at: 0, bytes: "GIF8" },
  { mediaType: "image/bmp", at: 0, bytes: "BM" },
  { mediaType: "image/tiff", at: 0, bytes: "II*\0" },
  { mediaType: "image/tiff", at: 0, bytes: "MM\0*" },
  ...["heic", "heix", "hevc", "hevx"].map((brand) => ({
    mediaType: "image/heic",
    at: 4,
    bytes: `ftyp${brand}`,
  })),
  ...["mif1", "msf1"].map((brand) => ({ mediaType: "image/heif", at: 4, bytes: `ftyp${brand}` })),
];

/** The media type that an image's first bytes show, or `undefined` for what is no image known here. */
export function detectImageType(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  return SIGNATURES.find(
    ({ at, bytes: mark, container = "" }) => start.startsWith(mark, at) && start.startsWith(container),
  )?.mediaType;
}

const DATA_URL = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+);base64,/i;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * A reference image as the provider takes it: an `http(s)` URL as it came, a data URL whose media
 * type is in lower case, or the file of a form. Of a data URL the media type and the alphabet are
 * checked, of a file the media type; the content is not, and nothing is fetched.
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
    if (!mediaTypes.has(value.mediaType)) throw otherType(value.mediaType, param, mediaTypes);
    return value;
  }
  if (/^data:/i.test(value.slice(0, 5))) return toDataUrl(value, param, mediaTypes);
  if (/^https?:\/\//i.test(value.slice(0, 8)) && URL.canParse(value)) return value;
  throw invalidRequest(
    `${param} must be a public http or https URL, or a data URL such as data:image/png;base64,<base64>.`,
    param,
  );
}

function toDataUrl(value: string, param: string, mediaTypes: ReadonlySet<string>): string {
  const header = DATA_URL.exec(value.slice(0, 128));
  const mediaType = header?.[1]?.toLowerCase();
  if (header === null || mediaType === undefined) {
    throw invalidRequest(`${param} must have the form data:image/<format>;base64,<base64>.`, param);
  }
  if (!mediaTypes.has(mediaType)) throw otherType(mediaType, param, mediaTypes);
  const content = value.slice(header[0].length);
  if (!BASE64.test(content)) throw invalidRequest(`${param} holds characters that are not base64.`, param);
  return `data:${mediaType};base64,${content}`;
}

function otherType(mediaType: string, param: string, mediaTypes: ReadonlySet<string>): GatewayError {
  return invalidRequest(`${param} is ${mediaType}; send one of ${[...mediaTypes].join(", ")}.`, param);
}
