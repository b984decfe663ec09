import { Buffer } from "node:buffer";

/** The same bytes as a Buffer, whose `indexOf` is many times as fast as that of other arrays. Nothing is copied. */
export function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
