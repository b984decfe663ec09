import { createHeldBytes } from "../util/held-bytes.js";
import { StringScanner } from "../util/json-walker.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const CLOSING_QUOTE = Uint8Array.of(QUOTE);
const DEFAULT_STRING_BYTES = 8 * 1024;
const MAX_KEPT_BYTES = 64 * 1024;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Reads JSON text of any size and keeps a short copy of it. */
export interface JsonShortener {
  push(bytes: Uint8Array): void;
  /** The copy so far: the JSON text with long strings cut short, and at most 64 KiB of it. */
  read(): string;
}

/**
 * Makes a short copy of JSON text that arrives in chunks, split at any place. Only the ends of long strings, such as
 * images in base64, are left out, so every member can still be read. The text may also be a part of a document, or
 * not JSON at all, unless it begins inside a string.
 *
 * @param maxStringBytes the number of bytes that are kept of a longer string
 */
export function createJsonShortener(maxStringBytes: number = DEFAULT_STRING_BYTES): JsonShortener {
  const strings = new StringScanner();
  const kept = createHeldBytes();
  let isInString = false;
  /** Bytes of the current string so far, without its quotes. */
  let stringBytes = 0;

  const keep = (part: Uint8Array): void =>
    kept.add(part.subarray(0, Math.max(0, MAX_KEPT_BYTES - kept.length)));

  const keepString = (part: Uint8Array): void => {
    const isCut = stringBytes > maxStringBytes;
    if (!isCut) keep(part.subarray(0, maxStringBytes - stringBytes));
    stringBytes += part.length;
    if (isCut || stringBytes <= maxStringBytes) return;
    kept.removeEnd(countCutEscape(kept.view()));
  };

  const readString = (bytes: Uint8Array, from: number): number => {
    const end = strings.findEnd(bytes, from);
    if (end === -1) {
      keepString(bytes.subarray(from));
      return bytes.length;
    }
    keepString(bytes.subarray(from, end - 1));
    keep(CLOSING_QUOTE);
    isInString = false;
    return end;
  };

  const readUntilString = (bytes: Uint8Array, from: number): number => {
    const quote = bytes.indexOf(QUOTE, from);
    const end = quote === -1 ? bytes.length : quote + 1;
    keep(bytes.subarray(from, end));
    if (quote !== -1) {
      isInString = true;
      stringBytes = 0;
      strings.begin();
    }
    return end;
  };

  return {
    push(bytes) {
      let index = 0;
      while (index < bytes.length)
        index = isInString ? readString(bytes, index) : readUntilString(bytes, index);
    },
    read: () => decoder.decode(kept.view()),
  };
}

/** The number of bytes at the end that belong to an incomplete escape, such as `\` or `\u00`. */
export function countCutEscape(bytes: Uint8Array): number {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && isHexDigit(bytes[start])) start--;
  start = bytes[start] === LETTER_U ? start - 1 : bytes.length - 1;
  let backslashes = 0;
  while (bytes[start - backslashes] === BACKSLASH) backslashes++;
  return backslashes % 2 === 1 ? bytes.length - start : 0;
}

function isHexDigit(byte = 0): boolean {
  const letter = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x66);
}
