import { Buffer } from "node:buffer";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Decodes base64 that arrives in parts, split at any place. The parts may be those of a JSON string: quotes and the
 * backslash of `\/` are skipped. Holds at most three characters.
 */
export class Base64Decoder {
  #rest = "";

  /** Returns bytes with memory of their own. */
  push(part: Uint8Array): Uint8Array<ArrayBuffer> {
    const characters = this.#rest + toAscii(part);
    const whole = characters.length - (characters.length % 4);
    this.#rest = characters.slice(whole);
    return Buffer.from(whole === characters.length ? characters : characters.slice(0, whole), "base64");
  }

  /** Returns the last bytes, for base64 without padding. */
  end(): Uint8Array<ArrayBuffer> {
    return Buffer.from(this.#rest, "base64");
  }
}

function toAscii(part: Uint8Array): string {
  const isPlain = !part.includes(QUOTE) && !part.includes(BACKSLASH);
  const bytes = isPlain ? part : part.filter((byte) => byte !== QUOTE && byte !== BACKSLASH);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
