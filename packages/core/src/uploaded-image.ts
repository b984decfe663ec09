import { Buffer } from "node:buffer";
import type { JsonObject } from "./json.js";

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
    toJSON: () => (writeUpload === undefined ? toDataUrl(image, bytes) : (writeUpload(image) as string)),
    [MARK]: true,
  };
  return image;
}

function toDataUrl({ mediaType, dataUrl }: UploadedImage, bytes: KeptBytes): string {
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
