import type { ChunkStage } from "../util/chunk-flow.js";
import { encodeText } from "../util/utf8.js";

/** Redacts secrets in the bodies that providers send. */
export interface ByteRedaction {
  /** Starts a redaction for one body. A chunk without a secret is passed on as the same object. */
  open(): ChunkStage;
}
/** The replacement of a secret. It is valid inside a JSON string and inside an event. */
const REPLACEMENT = encodeText("***");

/**
 * At the end of a chunk, up to this many first bytes of a secret are passed on: they reveal nothing of it. More bytes
 * are held back until the next chunk shows whether they belong to a secret. Without this rule, one base64 chunk in 64
 * would be copied to hold back its last byte, and `freeChunk` could not free its memory.
 */
const MAX_PASSED_PREFIX = 3;

/**
 * Creates a redaction for these secrets, in every form in which JSON serializers write them.
 *
 * The search is the algorithm of Wu and Manber: a window as long as the shortest secret moves over the bytes. A table
 * tells for the last two bytes of the window how far it can move, which is usually its whole length. So the cost
 * hardly depends on the number of secrets: with keys of 32 characters, a base64 body of several megabytes takes one
 * table lookup for each 30 bytes. The simple version is `Buffer.indexOf` for each secret; it needs Node, and one pass
 * over the bytes for each secret. Chunks without a secret are not copied. See docs/decisions/0026.
 *
 * @param secrets each at least two bytes long
 */
export function createByteRedaction(secrets: readonly string[]): ByteRedaction {
  const patterns = secrets.flatMap(toWrittenForms).map((form) => encodeText(form));
  if (patterns.length === 0) return { open: () => PASS_ALL };
  const search = new SecretSearch(patterns);
  return { open: () => new SearchingRedaction(search) };
}

const PASS_ALL: ChunkStage = { push: (chunk) => chunk, end: () => [] };

/**
 * The forms in which a secret can occur in a body: unchanged, as JSON writes it, with the `\/` of PHP, and with the
 * escapes of Go (`<`, `>`, `&`) and of Gson (`=`, `'` and `+` too). Other escapes, such as `\u0061` for `a`, are not
 * found in bytes, because no serializer writes them. Error messages and codes are redacted again after they were
 * decoded.
 */
function toWrittenForms(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const escape = (characters: RegExp): string =>
    json.replace(characters, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const forms = [secret, json, json.replaceAll("/", "\\/"), escape(/[<>&]/g), escape(/[<>&='+]/g)];
  const upperCase = forms.map((form) =>
    form.replace(/\\u[\da-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`),
  );
  return [...new Set([...forms, ...upperCase])];
}

/** The position of a secret. `end` is `undefined` if the bytes end before it is certain. */
interface Hit {
  readonly start: number;
  readonly end: number | undefined;
}

/** Finds any of several secrets. Immutable, and shared by all bodies. */
class SecretSearch {
  /** The length of the longest secret. */
  readonly maxLength: number;
  /** The length of the shortest one, which is that of the window. */
  readonly #windowLength: number;
  /**
   * How far the window may move, for each value of its last two bytes. 0: the window may contain the beginning of a
   * secret.
   */
  readonly #shifts: Uint8Array;
  /** The secrets by those two bytes, and by their first byte; the longest first. */
  readonly #byWindowEnd = new Map<number, Uint8Array[]>();
  readonly #byFirstByte: (Uint8Array[] | undefined)[] = Array.from({ length: 256 });
  /** Bytes that base64 does not contain, such that each secret contains one of them. Empty if a secret has no such byte. */
  readonly #rareBytes: readonly number[];
  /** No secret has more bytes than this before its rare byte. */
  readonly #maxBeforeRare: number;

  constructor(patterns: readonly Uint8Array[]) {
    const longestFirst = patterns.toSorted((a, b) => b.length - a.length);
    const lengths = patterns.map(({ length }) => length);
    this.maxLength = Math.max(...lengths);
    this.#windowLength = Math.min(...lengths, 256);
    const last = this.#windowLength - 2;
    this.#shifts = new Uint8Array(0x10000).fill(last + 1);
    for (const pattern of longestFirst) {
      for (let at = 0; at <= last; at++) {
        const pair = pairAt(pattern, at);
        this.#shifts[pair] = Math.min(this.#shifts[pair] ?? 0, last - at);
      }
      addTo(this.#byWindowEnd, pairAt(pattern, last), pattern);
      (this.#byFirstByte[pattern[0] ?? 0] ??= []).push(pattern);
    }
    const rareAt = patterns.map((pattern) => pattern.findIndex((byte) => !isOfBase64(byte)));
    this.#maxBeforeRare = Math.max(...rareAt);
    this.#rareBytes = rareAt.includes(-1)
      ? []
      : [...new Set(patterns.map((pattern, index) => pattern[rareAt[index] ?? 0] ?? 0))];
  }

  /**
   * Where in a chunk the search has to begin: before this no secret begins. `indexOf` of a Node `Buffer` passes over
   * base64 ten times as fast as the search does. That takes a quarter of the CPU time off a response of megabytes whose
   * key is as short as 14 characters. The simple version returns 0.
   */
  findStart(bytes: Uint8Array): number {
    if (this.#rareBytes.length === 0) return 0;
    let first = bytes.length;
    for (const byte of this.#rareBytes) {
      const at = bytes.indexOf(byte);
      if (at !== -1 && at < first) first = at;
    }
    return Math.max(0, first - this.#maxBeforeRare);
  }

  /**
   * Returns the first secret at or after `from`. If the end of the bytes may be the beginning of a secret, returns
   * that position.
   */
  find(bytes: Uint8Array, from: number): Hit | undefined {
    const last = this.#windowLength - 2;
    const { length } = bytes;
    const shifts = this.#shifts;
    let at = from + last;
    while (at + 1 < length) {
      const shift = shifts[((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)] ?? 1;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const hit = matchOne(bytes, at - last, this.#byWindowEnd.get(pairAt(bytes, at)));
      if (hit !== undefined) return hit;
      at++;
    }
    // From here on the bytes are shorter than the window.
    for (let start = Math.max(from, at - last); start < length; start++) {
      const hit = this.matchAt(bytes, start);
      if (hit !== undefined) return hit;
    }
    return undefined;
  }

  /** Returns the secret that begins exactly at this position. */
  matchAt(bytes: Uint8Array, start: number): Hit | undefined {
    // Called for each of the last bytes of a chunk: no secret begins with most of them.
    const longestFirst = this.#byFirstByte[bytes[start] ?? -1];
    return longestFirst === undefined ? undefined : matchOne(bytes, start, longestFirst);
  }
}

/** Letters, digits, `+`, `/` and `=`. */
function isOfBase64(byte: number): boolean {
  return /[A-Za-z0-9+/=]/.test(String.fromCharCode(byte));
}

function pairAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

function addTo(lists: Map<number, Uint8Array[]>, key: number, pattern: Uint8Array): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [pattern]);
  else list.push(pattern);
}

/** If a secret begins with another secret, the longer one is redacted, so that none of its bytes remain. */
function matchOne(
  bytes: Uint8Array,
  start: number,
  longestFirst: readonly Uint8Array[] = [],
): Hit | undefined {
  for (const pattern of longestFirst) {
    if (!isEqualAt(bytes, start, pattern)) continue;
    const end = start + pattern.length;
    return { start, end: end > bytes.length ? undefined : end };
  }
  return undefined;
}

/** Also true if the bytes end before the pattern does. */
function isEqualAt(bytes: Uint8Array, start: number, pattern: Uint8Array): boolean {
  const length = Math.min(pattern.length, bytes.length - start);
  for (let at = 0; at < length; at++) {
    if (bytes[start + at] !== pattern[at]) return false;
  }
  return true;
}

const NONE = new Uint8Array(0);
const NO_PART_OF_A_SECRET = new Uint8Array(1);
/** Replacing only a part of an escape would make the JSON invalid. */
const BACKSLASH = 0x5c;

class SearchingRedaction implements ChunkStage {
  readonly #search: SecretSearch;
  /** The end of the bytes so far if it may be the beginning of a secret; a copy. */
  #tail: Uint8Array = NONE;
  /** The number of bytes of the tail that were passed on already. */
  #passed = 0;

  constructor(search: SecretSearch) {
    this.#search = search;
  }

  push(chunk: Uint8Array): Uint8Array | readonly Uint8Array[] {
    const output: Uint8Array[] = [];
    let rest = this.#tail.length === 0 ? chunk : this.#resolveTail(chunk, output);
    // Only once for each chunk, so that a chunk with many secrets is not searched again for each of them.
    let hit = this.#search.find(rest, this.#search.findStart(rest));
    if (hit === undefined && rest === chunk && output.length === 0 && chunk.length > 0) return chunk;
    while (hit?.end !== undefined) {
      add(output, rest.subarray(0, hit.start));
      output.push(REPLACEMENT.slice());
      rest = rest.subarray(hit.end);
      hit = this.#search.find(rest, 0);
    }
    add(output, hit === undefined ? rest : this.#hold(rest, hit.start));
    return output;
  }

  end(): readonly Uint8Array[] {
    const output: Uint8Array[] = [];
    if (this.#tail.length === 0) return output;
    // The beginning of a long secret may also be the whole of a shorter one. No secret has this byte, so it decides.
    this.#resolveTail(NO_PART_OF_A_SECRET, output);
    return output;
  }

  /**
   * Uses the first bytes of the next chunk to decide about the tail.
   *
   * @returns the part of the chunk that is not decided yet
   */
  #resolveTail(chunk: Uint8Array, output: Uint8Array[]): Uint8Array {
    const known = this.#tail.length;
    const joined = concat(this.#tail, chunk.subarray(0, this.#search.maxLength));
    /** The joined bytes up to this index were passed on or redacted. */
    let done = this.#passed;
    this.#tail = NONE;
    this.#passed = 0;
    let start = 0;
    while (start < known) {
      const hit = this.#search.matchAt(joined, start);
      if (hit === undefined) {
        start++;
        continue;
      }
      add(output, joined.subarray(done, Math.max(done, start)));
      if (hit.end === undefined) {
        // The chunk was too short to decide. Bytes of the tail that were passed on before are not passed on again.
        add(output, this.#hold(joined.slice(start), 0, Math.max(0, done - start)));
        return NONE;
      }
      output.push(REPLACEMENT.slice());
      start = hit.end;
      done = hit.end;
    }
    add(output, joined.subarray(done, Math.max(done, known)));
    const from = Math.max(done, known) - known;
    return from === 0 ? chunk : chunk.subarray(from);
  }

  /**
   * Holds back the bytes from `start`, unless they are too few to reveal anything of a secret.
   *
   * @param passed the number of bytes from `start` that were passed on before
   * @returns the bytes that are passed on now
   */
  #hold(bytes: Uint8Array, start: number, passed = 0): Uint8Array {
    // Copied, because the chunk may be freed once it is written. `slice` of a `Buffer` would be a view.
    this.#tail = new Uint8Array(bytes.subarray(start));
    const isShort = this.#tail.length <= MAX_PASSED_PREFIX && !this.#tail.includes(BACKSLASH);
    this.#passed = isShort ? this.#tail.length : passed;
    const from = passed > 0 ? start + passed : 0;
    // The same object, as for a chunk without a secret.
    if (from === 0 && isShort) return bytes;
    return bytes.subarray(from, isShort ? bytes.length : Math.max(from, start));
  }
}

function add(output: Uint8Array[], bytes: Uint8Array): void {
  if (bytes.length > 0) output.push(bytes);
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
