const RANDOM_BYTES = 16;
const encoder = new TextEncoder();
const DIGITS = encoder.encode("0123456789abcdef");
/** The letters of the next id. */
const letters = Array.from(encoder.encode(`req_${"0".repeat(2 * RANDOM_BYTES)}`));
const FIRST_DIGIT = "req_".length;

/** So many ids are drawn at once: to ask for chance takes longer than to use it. */
const pool = new Uint8Array(256 * RANDOM_BYTES);
let used = pool.length;

/** A request's id: `req_` and 32 hexadecimal digits of chance. */
export function createRequestId(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  for (let place = FIRST_DIGIT; place < letters.length; place += 2) {
    const byte = pool[used++] ?? 0;
    letters[place] = DIGITS[byte >> 4] ?? 0;
    letters[place + 1] = DIGITS[byte & 15] ?? 0;
  }
  // One text at once; one that is put together from parts is a tree of them, until somebody reads it.
  return String.fromCharCode(...letters);
}
