import { encodeText } from "./utf8.js";

/**
 * The maximum length of a name in bytes of UTF-8. Names are ids, callers, groups, models and channels. An index row
 * of PostgreSQL has at most 2,704 bytes; our largest index row has four names, a charge and 60 more bytes.
 */
const MAX_NAME_BYTES = 512;

/** The rule for names, for messages such as "id must be …". */
export const NAME_RULE = `a string of at most ${MAX_NAME_BYTES} bytes in UTF-8, without NUL and without an unpaired surrogate`;

/** Whether every ledger can store this name unchanged. */
export function isName(value: unknown): boolean {
  if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed()) return false;
  // A UTF-16 unit takes three bytes at most, so short names need not be encoded.
  return value.length * 3 <= MAX_NAME_BYTES || encodeText(value).length <= MAX_NAME_BYTES;
}
