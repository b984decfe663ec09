import { createHeldBytes } from "../util/held-bytes.js";
import { createStringScanner } from "../util/scan-string.js";

const DEFAULT_HELD_BYTES = 16 * 1024;
/** Keys, values and items that are told: far more than an answer of 15 images has. */
const MAX_TOLD = 1_000;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Who is told what stands in a JSON object, in the order of its bytes. A member is told by `onMember` and
 * then its value, or by `onMember`, `onItems`, the value of each item, `onItemsEnd`.
 */
export interface JsonScanHandler extends ValueReceiver {
  /** A top-level member begins: its key as it is read, and as it is written, quotes included. */
  onMember(key: string, written: Uint8Array): void;
  /** The value is the array whose items are told one by one. */
  onItems(): void;
  onItemsEnd(): void;
}

/** What a scanner looks for. */
export interface JsonScanOptions {
  /** The top-level member of whose array the items are told one by one. */
  readonly items: string;
  /** A value up to this size is told whole, a larger one in parts. A key must not be larger. Default 16 KiB. */
  readonly maxHeldBytes?: number | undefined;
}

/** Reads a JSON object out of bytes that go elsewhere. */
export interface JsonScanner {
  push(chunk: Uint8Array): void;
  /** Goes no further: the document is broken to whoever listens. */
  readonly giveUp: () => void;
  readonly status: JsonStatus;
}

/**
 * Scans one JSON object as it comes, however it is cut, and holds nothing of it but short keys and
 * values. Strings are jumped over, so that pictures in base64 cost next to nothing.
 *
 * What makes a document broken: another type than an object, brackets, commas, colons or quotes that are
 * missing or misplaced, a byte outside of strings that begins no value, more than 64 levels, a million
 * values or a thousand that are told, a key larger than the bound or wrongly escaped, anything but white
 * space after the end. Not noticed, unless whoever is told of a value parses it: numbers and literals that
 * are misspelled (`01`, `trve`), and in strings wrong escapes, control characters and bytes that are no UTF-8.
 */
export function createJsonScanner(handler: JsonScanHandler, options: JsonScanOptions): JsonScanner {
  const { items, maxHeldBytes = DEFAULT_HELD_BYTES } = options;
  let key = "";
  let isInItems = false;
  /** What is collected at present, from which place in the chunk, and how deep it lies. */
  let open: ValueCollector | undefined;
  let openFrom = 0;
  let openDepth = 0;
  let told = 0;

  const walker = createJsonWalker({ onBegin, onEnd });
  const { giveUp } = walker;
  const values = createValueCollector(handler, maxHeldBytes);
  const keys = createValueCollector({ onValue: readKey, onPart: giveUp, onPartsEnd: giveUp }, maxHeldBytes);

  function readKey(written: Uint8Array): void {
    const read = parseKey(written);
    if (read === undefined) return giveUp();
    key = read;
    handler.onMember(key, written);
  }

  function onBegin(part: JsonPart, depth: number, index: number): void {
    if (open !== undefined || depth === 0) return;
    if (part === "array" && depth === 1 && key === items) {
      isInItems = true;
      return handler.onItems();
    }
    told++;
    if (told > MAX_TOLD) return giveUp();
    open = part === "key" ? keys : values;
    openFrom = index;
    openDepth = depth;
  }

  function onEnd(chunk: Uint8Array, depth: number, index: number): void {
    if (open !== undefined) {
      if (depth !== openDepth) return;
      const ended = open;
      open = undefined;
      return ended.end(chunk.subarray(openFrom, index));
    }
    if (!isInItems) return;
    isInItems = false;
    handler.onItemsEnd();
  }

  return {
    giveUp,
    push(chunk) {
      openFrom = 0;
      walker.push(chunk);
      if (walker.status === "open") open?.add(openFrom === 0 ? chunk : chunk.subarray(openFrom));
    },
    get status() {
      return walker.status;
    },
  };
}

/** `undefined` where a key is no JSON string. */
function parseKey(written: Uint8Array): string | undefined {
  try {
    const key: unknown = JSON.parse(decoder.decode(written));
    return typeof key === "string" ? key : undefined;
  } catch {
    return undefined;
  }
}

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
type JsonPart = "key" | "object" | "array" | "string" | "scalar";

/** Who is told where things stand in a JSON object. Places are those of the present chunk. */
interface JsonWalkHandler {
  /** A key or a value begins at `index`, inside of so many brackets. */
  onBegin(part: JsonPart, depth: number, index: number): void;
  /** It has ended before `index`. */
  onEnd(chunk: Uint8Array, depth: number, index: number): void;
}

/** Where a document stands: its end is to come, it has ended, or it is no JSON object. */
export type JsonStatus = "open" | "complete" | "broken";

/** Goes through one JSON object as it comes. */
interface JsonWalker {
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
function createJsonWalker(handler: JsonWalkHandler): JsonWalker {
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

/** Who is told of values, each either whole or in parts. Bytes may be those of a chunk: not to be kept. */
interface ValueReceiver {
  /** A value that ended within the bound, as it is written. */
  onValue(bytes: Uint8Array): void;
  /** The next part of a larger value, from its first byte on. */
  onPart(bytes: Uint8Array): void;
  /** The end of a value that came in parts. */
  onPartsEnd(): void;
}

/** Puts values together that are cut between chunks. */
interface ValueCollector {
  /** Bytes of the present value, more of which follow. */
  add(part: Uint8Array): void;
  /** The last bytes of the present value. */
  end(part: Uint8Array): void;
}

/** Holds a value until its end, up to `maxBytes`; what is larger is handed on as it comes. */
function createValueCollector(receiver: ValueReceiver, maxBytes: number): ValueCollector {
  const held = createHeldBytes();
  let isInParts = false;

  const handOn = (part: Uint8Array): void => {
    if (!isInParts && held.length > 0) receiver.onPart(held.take());
    isInParts = true;
    if (part.length > 0) receiver.onPart(part);
  };
  const isTooLarge = (part: Uint8Array): boolean => isInParts || held.length + part.length > maxBytes;

  return {
    add(part) {
      if (isTooLarge(part)) handOn(part);
      else held.add(part);
    },
    end(part) {
      if (isTooLarge(part)) {
        handOn(part);
        isInParts = false;
        return receiver.onPartsEnd();
      }
      if (held.length === 0) return receiver.onValue(part);
      held.add(part);
      receiver.onValue(held.take());
    },
  };
}
