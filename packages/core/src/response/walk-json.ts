import { createStringScanner } from "../util/scan-string.js";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** What `readAnswer` lets a whole answer be. */
const MAX_DEPTH = 64;
const MAX_VALUES = 1_000_000;

/** What begins: a key of an object, or a value of any kind. */
export type JsonPart = "key" | "object" | "array" | "string" | "scalar";

/** Who is told where things stand in a JSON object. Places are those of the present chunk. */
export interface JsonWalkHandler {
  /** A key or a value begins at `index`, inside of so many brackets. */
  onBegin(part: JsonPart, depth: number, index: number): void;
  /** It has ended before `index`. */
  onEnd(chunk: Uint8Array, depth: number, index: number): void;
}

/** Where a document stands: its end is to come, it has ended, or it is no JSON object. */
export type JsonStatus = "open" | "complete" | "broken";

/** Goes through one JSON object as it comes. */
export interface JsonWalker {
  push(chunk: Uint8Array): void;
  /** Goes no further: to whoever listens the document is broken. */
  readonly giveUp: () => void;
  readonly status: JsonStatus;
}

/** What may stand next, white space aside. */
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

/** Keeps the structure of a document in mind, and none of its bytes, however it is cut. */
export function createJsonWalker(handler: JsonWalkHandler): JsonWalker {
  /** The brackets that are to come, the innermost last. */
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

  /** A number ends with what stands behind it. */
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

  const goOn = (sign: "comma" | "colon"): void => {
    if (expected !== sign) return giveUp();
    expected = sign === "comma" && closers.at(-1) === CLOSE_BRACE ? "key" : "value";
  };

  const readByte = (chunk: Uint8Array, index: number): void => {
    const byte = chunk[index] ?? 0;
    switch (byte) {
      case 0x20:
      case 0x09:
      case 0x0a:
      case 0x0d:
        return;
      case QUOTE:
        return beginString(index);
      case COMMA:
        return goOn("comma");
      case COLON:
        return goOn("colon");
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

  const readStatus = (): JsonStatus => {
    if (expected === "nothing") return "broken";
    return expected === "end" ? "complete" : "open";
  };

  return {
    giveUp,
    push(chunk) {
      let index = markBytes < BYTE_ORDER_MARK.length ? skipMark(chunk) : 0;
      while (index < chunk.length && readStatus() !== "broken") {
        if (expected === "rest of string" || expected === "rest of key") index = endString(chunk, index);
        else if (expected === "rest of scalar") index = endScalar(chunk, index);
        else readByte(chunk, index++);
      }
    },
    get status() {
      return readStatus();
    },
  };
}

/** What numbers and literals are spelled with. */
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
