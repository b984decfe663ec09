import { Buffer } from "node:buffer";
import { toBuffer } from "../util/to-buffer.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Decodes base64 that arrives in parts, split at any place. The parts may be those of a JSON string: quotes are skipped, and
 * escapes such as `\/` and `\u002b` are resolved. Holds at most eight characters.
 */
export class Base64Decoder {
  #rest = "";
  /** The beginning of an escape, such as `\u00`. */
  #escape = "";

  /** Returns bytes with memory of their own. */
  push(part: Uint8Array): Uint8Array<ArrayBuffer> {
    const characters = this.#rest + this.#toCharacters(part);
    const whole = characters.length - (characters.length % 4);
    this.#rest = characters.slice(whole);
    return Buffer.from(whole === characters.length ? characters : characters.slice(0, whole), "base64");
  }

  /** Returns the last bytes, for base64 without padding. */
  end(): Uint8Array<ArrayBuffer> {
    return Buffer.from(this.#rest, "base64");
  }

  #toCharacters(part: Uint8Array): string {
    const hasEscape = this.#escape !== "" || part.includes(BACKSLASH);
    if (!hasEscape) return toAscii(part.includes(QUOTE) ? part.filter((byte) => byte !== QUOTE) : part);
    const text = this.#escape + toAscii(part);
    // An escape may continue in the next part.
    this.#escape = /\\(?:u[\da-f]{0,3})?$/i.exec(text)?.[0] ?? "";
    const complete = text.slice(0, text.length - this.#escape.length);
    return complete.replaceAll(/"|\\(?:u([\da-f]{4})|(.))/gi, (_all, code?: string, plain?: string) =>
      code === undefined ? (plain ?? "") : String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
}

function toAscii(bytes: Uint8Array): string {
  return toBuffer(bytes).toString("latin1");
}

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
    return toBase64(this.#rest);
  }
}

/** Base64 of bytes, without a copy of them. */
export function toBase64(bytes: Uint8Array): string {
  return toBuffer(bytes).toString("base64");
}
