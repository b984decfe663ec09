import { chance, drawInt, pick, type Random } from "./draw.ts";

/** Bytes as JSON: text if they are valid UTF-8, otherwise base64. */
export type Bytes = { readonly text: string } | { readonly base64: string };

export function toBytes(bytes: Uint8Array): Bytes {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  return Buffer.from(text).equals(buffer) ? { text } : { base64: buffer.toString("base64") };
}

export function fromBytes(bytes: Bytes): Buffer {
  return "text" in bytes ? Buffer.from(bytes.text) : Buffer.from(bytes.base64, "base64");
}

/** Replaces the name of a key, such as `$CALLER_KEY`, by the key. */
export function insertKey(bytes: Buffer, name: string, key: string): Buffer {
  return bytes.includes(name) ? Buffer.from(bytes.toString("latin1").replaceAll(name, key), "latin1") : bytes;
}

/** Cuts bytes at these positions. Positions outside cut at the nearest end. Empty pieces are kept. */
export function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const positions = cuts.map((cut) => Math.min(Math.max(0, cut), bytes.length)).toSorted((a, b) => a - b);
  return [...positions, bytes.length].map((end, index) => bytes.slice(positions[index - 1] ?? 0, end));
}

/** Positions at which a body of this length is cut: often none, sometimes a few, rarely at every byte. */
export function drawCuts(random: Random, length: number): number[] {
  const kind = random();
  if (kind < 0.5 || length === 0) return [];
  if (kind < 0.52 && length < 4_000) return Array.from({ length: length - 1 }, (_, index) => index + 1);
  return Array.from({ length: drawInt(random, 1, 8) }, () => drawInt(random, 0, length));
}

/** Positions at which bytes are cut into packets. They are few, because each packet takes a millisecond. */
export function drawPackets(random: Random, length: number): number[] {
  if (chance(random, 0.6)) return [];
  return Array.from({ length: drawInt(random, 1, 5) }, () => drawInt(random, 0, length));
}

/** Sequences that parsers treat specially. */
const SPECIAL = [
  "\0",
  "\r\n",
  "\n",
  "\r",
  '"',
  "\\",
  "\\u0000",
  "\\ud800",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "--",
  "\u2028",
  "\ufeff",
  "é",
  "😀",
  "=",
  ";",
  "%00",
  "1e400",
  "-",
  "null",
  "\t",
  " ",
].map((text) => Buffer.from(text));
const INVALID_UTF8 = [
  [0xff],
  [0xc0, 0x80],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
  [0x80],
].map((bytes) => Buffer.from(bytes));

/** Changes a few bytes: flips, deletes, inserts, repeats, swaps or truncates. */
export function mutateBytes(random: Random, bytes: Buffer): Buffer {
  let mutated = bytes;
  for (let left = drawInt(random, 1, 3); left > 0; left -= 1) mutated = mutateOnce(random, mutated);
  return mutated;
}

function mutateOnce(random: Random, bytes: Buffer): Buffer {
  const start = drawInt(random, 0, bytes.length);
  const end = Math.min(bytes.length, start + drawInt(random, 1, chance(random, 0.2) ? 200 : 4));
  const [before, span, after] = [bytes.subarray(0, start), bytes.subarray(start, end), bytes.subarray(end)];
  const kind = random();
  if (kind < 0.25) return Buffer.concat([before, after]);
  if (kind < 0.5) return Buffer.concat([before, pick(random, SPECIAL), span, after]);
  if (kind < 0.6) return Buffer.concat([before, pick(random, INVALID_UTF8), after]);
  if (kind < 0.75)
    return Buffer.concat([
      before,
      Buffer.from(span.map((byte) => byte ^ (1 << drawInt(random, 0, 7)))),
      after,
    ]);
  if (kind < 0.85) return Buffer.concat([before, span, span, after]);
  if (kind < 0.95) return before;
  return Buffer.concat([after, span, before]);
}

/** Shorter versions of a body: first without one half, then without ever smaller pieces. */
export function* shrinkBytes(bytes: Buffer): Iterable<Buffer> {
  for (let piece = Math.ceil(bytes.length / 2); piece >= 1; piece = piece === 1 ? 0 : Math.ceil(piece / 2)) {
    for (let start = 0; start < bytes.length; start += piece) {
      yield Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + piece)]);
    }
  }
}
