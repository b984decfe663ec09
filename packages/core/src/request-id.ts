const RANDOM_BYTES = 16;
const encoder = new TextEncoder();
const DIGITS = encoder.encode("0123456789abcdef");
const PREFIX = encoder.encode("req_");

/** So many ids are drawn at once: to ask for chance takes longer than to use it. */
const pool = new Uint8Array(256 * RANDOM_BYTES);
let used = pool.length;

/** A request's id: `req_` and 32 hexadecimal digits of chance. */
export function createRequestId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const codes = [...PREFIX];
  for (const byte of pool.subarray(used, used + RANDOM_BYTES)) {
    codes.push(DIGITS[byte >> 4] ?? 0, DIGITS[byte & 15] ?? 0);
  }
  used += RANDOM_BYTES;
  // One text at once; one that is put together from parts is a tree of them, until somebody reads it.
  return String.fromCharCode(...codes);
}
