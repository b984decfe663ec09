const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Finds the ends of JSON strings, one after another, wherever chunks are cut. */
export interface StringScanner {
  /** The first quote was read; what is scanned next stands behind it. */
  begin(): void;
  /** Where the string has ended, one past its last quote, or -1 when its end is to come. */
  findEnd(chunk: Uint8Array, from: number): number;
}

/**
 * After this many escaped quotes in one string, the string is read byte by byte: each jump costs as much as about 100
 * bytes.
 */
const MAX_JUMPS = 16;

/**
 * Jumps from quote to quote, and looks only at the backslashes before each. `indexOf` of a plain
 * `Uint8Array` runs at about 2 GB/s on V8, that of a `Buffer`, which undici gives, at about 50 GB/s.
 */
export function createStringScanner(): StringScanner {
  /** A backslash at the end of the last chunk that escapes what follows. */
  let isEscaped = false;

  /** Whether the byte at `at` is escaped, in a string whose bytes in this chunk begin at `from`. */
  const isEscapedAt = (chunk: Uint8Array, from: number, at: number): boolean => {
    let start = at;
    while (start > from && chunk[start - 1] === BACKSLASH) start--;
    const isOddRun = (at - start) % 2 === 1;
    return start === from ? isOddRun !== isEscaped : isOddRun;
  };

  /** The same from a byte that is not escaped, looking at each. */
  const findByBytes = (chunk: Uint8Array, from: number): number => {
    let at = from;
    for (; at < chunk.length; at++) {
      if (chunk[at] === BACKSLASH) at++;
      else if (chunk[at] === QUOTE) return at + 1;
    }
    // The backslash was the last byte, and what follows is in the next chunk.
    isEscaped = at > chunk.length;
    return -1;
  };

  return {
    begin() {
      isEscaped = false;
    },
    findEnd(chunk, from) {
      let quote = chunk.indexOf(QUOTE, from);
      for (let jumps = 0; quote !== -1 && isEscapedAt(chunk, from, quote); jumps++) {
        if (jumps === MAX_JUMPS) return findByBytes(chunk, quote + 1);
        quote = chunk.indexOf(QUOTE, quote + 1);
      }
      if (quote === -1) isEscaped = isEscapedAt(chunk, from, chunk.length);
      return quote === -1 ? -1 : quote + 1;
    },
  };
}
