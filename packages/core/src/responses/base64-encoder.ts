import { Buffer } from "node:buffer";

/** Encodes bytes that arrive in chunks as base64. Holds at most two bytes. */
export class Base64Encoder {
  #rest: Uint8Array = new Uint8Array();

  push(chunk: Uint8Array): string {
    const bytes = this.#rest.length === 0 ? toBuffer(chunk) : Buffer.concat([this.#rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    // Copied, because the memory of the chunk may be used again.
    this.#rest = Uint8Array.from(bytes.subarray(whole));
    return bytes.toString("base64", 0, whole);
  }

  /** Returns the last characters, with padding. */
  end(): string {
    return toBuffer(this.#rest).toString("base64");
  }
}

function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
