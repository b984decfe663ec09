import { createHeldBytes } from "../util/held-bytes.js";
import { createJsonWalker, type JsonPart, type JsonStatus } from "../util/json-walker.js";

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
