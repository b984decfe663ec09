import { Buffer } from "node:buffer";
import { replaceUploads } from "../images/reference-image.js";
import { createSpool, type RequestSpool } from "../images/spool.js";
import type { SpooledFile } from "../images/spooled-file.js";
import type { FieldPart } from "../request/form-fields.js";
import type { JsonObject } from "../util/json.js";

/** A spool that keeps everything in memory. */
export function openMemorySpool(): RequestSpool {
  const spool = createSpool({ memoryBytes: 0, openFile: undefined });
  return spool.open({ remove: () => undefined });
}

/** A file of a form whose bytes arrived in one chunk. */
export function spooledFile(bytes: Uint8Array): SpooledFile {
  const chunks = (): readonly Uint8Array[] => [bytes];
  return { head: bytes.subarray(0, 16), byteLength: bytes.length, chunks, chunksSync: chunks };
}

/** A part of a form. If it is a file, its bytes are in one chunk. */
export type PlainPart =
  | { readonly name: string; readonly value: string }
  | { readonly name: string; readonly bytes: Buffer };

/** Returns parts as plain values: the text, or the bytes of the file. */
export function toPlainParts(parts: readonly FieldPart[]): readonly PlainPart[] {
  return parts.map((part) =>
    "file" in part ? { name: part.name, bytes: Buffer.concat([...part.file.chunksSync()]) } : part,
  );
}

/** Returns the fields with a data URL instead of each file. */
export function withDataUrls(fields: JsonObject): unknown {
  return replaceUploads(fields, (image) => image.toJSON());
}
