/*
 * The scanner for JSON bytes, for documents of many megabytes that arrive in chunks. It jumps over strings with the
 * native `indexOf`, at 2 to 50 GB per second, so images in base64 cost almost nothing. The simple version is
 * `JSON.parse` of the whole document, which is used for everything small.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** The limits of every document. Requests have tighter ones. */
const MAX_DEPTH = 64;
const MAX_VALUES = 1_000_000;

/** What begins in a document: a key of an object, or a value. */
export type JsonPart = "key" | "object" | "array" | "string" | "scalar";

/** Receives the places of keys and values. An index counts from the start of the current chunk. */
export interface JsonWalkHandler {
  /** A key or a value begins at `index`, inside `depth` brackets. */
  onBegin(part: JsonPart, depth: number, index: number): void;
  /** The key or value ended before `index`. */
  onEnd(chunk: Uint8Array, depth: number, index: number): void;
}

/** `open`: the end of the document is still to come. `broken`: the bytes are not a JSON object. */
export type JsonStatus = "open" | "complete" | "broken";

/** Walks through one JSON object. */
export interface JsonWalker {
  push(chunk: Uint8Array): void;
  /** Makes the document `broken`. */
  readonly giveUp: () => void;
  readonly status: () => JsonStatus;
}

/** What may come next, white space aside. */
type Expected =
  | "object"
  | "first key"
  | "key"
  | "rest of key"
  | "colon"
  | "first value"
  | "value"
  | "rest of string"
  | "rest of scalar"
  | "comma"
  | "end"
  | "nothing";

/**
 * Creates a walker. It keeps the open brackets of the document and none of its bytes, wherever the chunks are cut.
 *
 * It does not detect misspelled numbers and literals (`01`, `trve`), nor wrong escapes, control characters and invalid
 * UTF-8 in strings. `JSON.parse` refuses every document that the walker calls `broken`, except documents of more than
 * 64 levels or a million values.
 */
export function createJsonWalker(handler: JsonWalkHandler): JsonWalker {
  /** The closing brackets that are still to come, the innermost last. */
  const closers: number[] = [];
  const strings = createStringScanner();
  let expected: Expected = "object";
  let values = 0;
  /** The bytes of a byte order mark that have arrived so far. */
  let markBytes = 0;

  const giveUp = (): void => {
    expected = "nothing";
  };

  const isValueExpected = (): boolean => expected === "value" || expected === "first value";

  const endValue = (chunk: Uint8Array, index: number): void => {
    values++;
    if (values > MAX_VALUES) return giveUp();
    expected = closers.length === 0 ? "end" : "comma";
    handler.onEnd(chunk, closers.length, index);
  };

  const beginString = (index: number): void => {
    const isKey = expected === "key" || expected === "first key";
    if (!isKey && !isValueExpected()) return giveUp();
    expected = isKey ? "rest of key" : "rest of string";
    strings.begin();
    handler.onBegin(isKey ? "key" : "string", closers.length, index);
  };

  const endString = (chunk: Uint8Array, from: number): number => {
    const index = strings.findEnd(chunk, from);
    if (index === -1) return chunk.length;
    if (expected === "rest of key") {
      expected = "colon";
      handler.onEnd(chunk, closers.length, index);
    } else endValue(chunk, index);
    return index;
  };

  const beginScalar = (byte: number, index: number): void => {
    if (!isScalarByte(byte) || !isValueExpected()) return giveUp();
    expected = "rest of scalar";
    handler.onBegin("scalar", closers.length, index);
  };

  /** A number has no end of its own: the next byte ends it. */
  const endScalar = (chunk: Uint8Array, from: number): number => {
    let index = from;
    while (index < chunk.length && isScalarByte(chunk[index] ?? 0)) index++;
    if (index < chunk.length) endValue(chunk, index);
    return index;
  };

  const openBracket = (byte: number, index: number): void => {
    const isTop = expected === "object" && byte === OPEN_BRACE;
    if ((!isTop && !isValueExpected()) || closers.length === MAX_DEPTH) return giveUp();
    expected = byte === OPEN_BRACE ? "first key" : "first value";
    closers.push(byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
    handler.onBegin(byte === OPEN_BRACE ? "object" : "array", closers.length - 1, index);
  };

  const closeBracket = (byte: number, chunk: Uint8Array, index: number): void => {
    const ifEmpty = byte === CLOSE_BRACE ? "first key" : "first value";
    if (closers.at(-1) !== byte || (expected !== "comma" && expected !== ifEmpty)) return giveUp();
    closers.pop();
    endValue(chunk, index + 1);
  };

  const readSeparator = (separator: "comma" | "colon"): void => {
    if (expected !== separator) return giveUp();
    expected = separator === "comma" && closers.at(-1) === CLOSE_BRACE ? "key" : "value";
  };

  const readByte = (byte: number, chunk: Uint8Array, index: number): void => {
    switch (byte) {
      case QUOTE:
        return beginString(index);
      case COMMA:
        return readSeparator("comma");
      case COLON:
        return readSeparator("colon");
      case OPEN_BRACE:
      case OPEN_BRACKET:
        return openBracket(byte, index);
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        return closeBracket(byte, chunk, index);
      default:
        return beginScalar(byte, index);
    }
  };

  /** JSON may begin with a byte order mark, which `JSON.parse` does not see because decoding removes it. */
  const skipMark = (chunk: Uint8Array): number => {
    let index = 0;
    while (markBytes < BYTE_ORDER_MARK.length && chunk[index] === BYTE_ORDER_MARK[markBytes]) {
      markBytes++;
      index++;
    }
    // The next byte is not part of a byte order mark, and an incomplete mark is not JSON.
    if (index < chunk.length) {
      if (markBytes > 0 && markBytes < BYTE_ORDER_MARK.length) giveUp();
      markBytes = BYTE_ORDER_MARK.length;
    }
    return index;
  };

  const status = (): JsonStatus => {
    if (expected === "nothing") return "broken";
    return expected === "end" ? "complete" : "open";
  };

  return {
    giveUp,
    push(chunk) {
      let index = markBytes < BYTE_ORDER_MARK.length ? skipMark(chunk) : 0;
      while (index < chunk.length && status() !== "broken") {
        const byte = chunk[index] ?? 0;
        if (expected === "rest of string" || expected === "rest of key") index = endString(chunk, index);
        else if (expected === "rest of scalar") index = endScalar(chunk, index);
        else {
          if (!isSpace(byte)) readByte(byte, chunk, index);
          index++;
        }
      }
    },
    status,
  };
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** The characters of numbers and of `true`, `false` and `null`. */
function isScalarByte(byte: number): boolean {
  const letter = byte | 0x20;
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (letter >= 0x61 && letter <= 0x7a && byte < 0x80) ||
    byte === 0x2b ||
    byte === 0x2d ||
    byte === 0x2e
  );
}

/** Finds the ends of JSON strings, one after another, wherever the chunks are cut. */
export interface StringScanner {
  /** Begins a string. The next scanned byte follows the first quote. */
  begin(): void;
  /** Returns the index after the last quote of the string, or -1 if the string does not end in this chunk. */
  findEnd(chunk: Uint8Array, from: number): number;
}

/**
 * After this many escaped quotes in one string, the string is read byte by byte: each jump costs as much as about 100
 * bytes.
 */
const MAX_JUMPS = 16;

/** Creates a scanner that jumps from quote to quote and counts the backslashes before each. */
export function createStringScanner(): StringScanner {
  /** True if the last chunk ended with a backslash that escapes the next byte. */
  let isEscaped = false;

  /** Whether the byte at `at` is escaped, in a string whose bytes in this chunk begin at `from`. */
  const isEscapedAt = (chunk: Uint8Array, from: number, at: number): boolean => {
    let start = at;
    while (start > from && chunk[start - 1] === BACKSLASH) start--;
    const isOddRun = (at - start) % 2 === 1;
    return start === from ? isOddRun !== isEscaped : isOddRun;
  };

  /** Reads byte by byte from a byte that is not escaped. */
  const findByBytes = (chunk: Uint8Array, from: number): number => {
    let at = from;
    for (; at < chunk.length; at++) {
      if (chunk[at] === BACKSLASH) at++;
      else if (chunk[at] === QUOTE) return at + 1;
    }
    // The backslash was the last byte, so it escapes the first byte of the next chunk.
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
