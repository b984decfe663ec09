import { Buffer } from "node:buffer";

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

/** An image of the bytes that were kept of a form's file. */
export function createUploadedImage(mediaType: string, bytes: KeptBytes): UploadedImage {
  return {
    mediaType,
    byteLength: bytes.byteLength,
    chunks: (options) => bytes.chunks(options),
    toJSON: () => dataUrlPrefix(mediaType) + Buffer.concat([...bytes.chunksSync()]).toString("base64"),
    [MARK]: true,
  };
}

/** True for what came as bytes; of what `JSON.parse` gives nothing is one. */
export function isUploadedImage(value: unknown): value is UploadedImage {
  return typeof value === "object" && value !== null && MARK in value;
}

/** What stands in a data URL before the base64. */
export function dataUrlPrefix(mediaType: string): string {
  return `data:${mediaType};base64,`;
}

/** True for a value of JSON, with uploads in it, that holds at least one. */
export function holdsUpload(value: unknown): boolean {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return false;
  return isUploadedImage(value) || Object.values(value).some(holdsUpload);
}

/** A copy of a value of JSON with something else in the place of each upload. */
export function replaceUploads(value: unknown, replace: (image: UploadedImage) => unknown): unknown {
  if (typeof value !== "object" || value === null || !holdsUpload(value)) return value;
  if (isUploadedImage(value)) return replace(value);
  if (Array.isArray(value)) return value.map((item: unknown) => replaceUploads(item, replace));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, replaceUploads(item, replace)]),
  );
}
