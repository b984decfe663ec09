import { createHeldBytes } from "../util/held-bytes.js";
import { type JsonPart, type JsonStatus, JsonWalker } from "../util/json-walker.js";
import { RESPONSE_BOUNDS } from "../util/response-bounds.js";

const DEFAULT_HELD_BYTES = 16 * 1024;
/** The maximum number of keys, values and items that are reported. A response of 15 images has far fewer. */
const MAX_REPORTED = 1_000;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Listeners for the content of a JSON object, called in the order of its bytes. For a member, `onMember` is called and
 * then a listener for its value. For the member of the items, `onMember`, `onItems`, the listeners for each item and
 * `onItemsEnd` are called.
 */
export interface JsonScanHandler extends ValueReceiver {
  /** A top-level member begins. `key` is the parsed key, `written` its bytes with quotes. */
  onMember(key: string, written: Uint8Array): void;
  /** The value is the array whose items are reported one by one. */
  onItems(): void;
  onItemsEnd(): void;
}

/** Options of {@link createJsonScanner}. */
export interface JsonScanOptions {
  /** The top-level member whose array items are reported one by one. */
  readonly items: string;
  /** A value of up to this size is reported whole, a larger one in parts. A key must not be larger. Default 16 KiB. */
  readonly maxHeldBytes?: number | undefined;
}

/** Reads a JSON object that arrives in chunks. */
export interface JsonScanner {
  push(chunk: Uint8Array): void;
  /** Makes the document `broken`. */
  readonly giveUp: () => void;
  readonly status: () => JsonStatus;
}

/**
 * Reports the members of one JSON object that arrives in chunks, and holds only short keys and values. Long strings are
 * skipped with `indexOf`: a response of 32 MB takes 5 ms and 2 MB of memory, with `JSON.parse` 45 ms and 101 MB.
 *
 * The status becomes `broken` if the document is not an object; if a bracket, comma, colon or quote is missing or
 * misplaced; at a byte that cannot begin a value; at a key that is too large or wrongly escaped; at anything but white space
 * after the end. It becomes `excessive` beyond `RESPONSE_BOUNDS`, and at more than a thousand reported values. The scanner does not
 * notice misspelled numbers and literals (`01`, `trve`), and in strings wrong escapes, control characters and invalid UTF-8.
 * A listener notices them when it parses the value.
 */
export function createJsonScanner(handler: JsonScanHandler, options: JsonScanOptions): JsonScanner {
  const { items, maxHeldBytes = DEFAULT_HELD_BYTES } = options;
  let key = "";
  let isInItems = false;
  /** The collector of the current value, the index where the value begins in the chunk, and its depth. */
  let open: ValueCollector | undefined;
  let openFrom = 0;
  let openDepth = 0;
  let reported = 0;

  const walker = new JsonWalker({ onBegin, onEnd }, RESPONSE_BOUNDS);
  const giveUp = (): void => walker.giveUp();
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
    reported++;
    if (reported > MAX_REPORTED) return walker.giveUp("excessive");
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
      if (walker.status() === "open") open?.add(openFrom === 0 ? chunk : chunk.subarray(openFrom));
    },
    status: () => walker.status(),
  };
}

/** Returns `undefined` if the key is not a JSON string. */
function parseKey(written: Uint8Array): string | undefined {
  try {
    const key: unknown = JSON.parse(decoder.decode(written));
    return typeof key === "string" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Listeners for values, each whole or in parts. The bytes may belong to a chunk, so they must be copied to be kept. */
interface ValueReceiver {
  /** A value of at most `maxHeldBytes`, as it is written. */
  onValue(bytes: Uint8Array): void;
  /** The next part of a larger value, from its first byte on. */
  onPart(bytes: Uint8Array): void;
  /** The end of a value that came in parts. */
  onPartsEnd(): void;
}

/** Joins values that are split between chunks. */
interface ValueCollector {
  /** Adds bytes of the current value. More follow. */
  add(part: Uint8Array): void;
  /** Adds the last bytes of the current value. */
  end(part: Uint8Array): void;
}

/** Holds a value of up to `maxBytes` until its end. A larger one is passed on as it arrives. */
function createValueCollector(receiver: ValueReceiver, maxBytes: number): ValueCollector {
  const held = createHeldBytes();
  let isInParts = false;

  const passOn = (part: Uint8Array): void => {
    if (!isInParts && held.length > 0) receiver.onPart(held.take());
    isInParts = true;
    if (part.length > 0) receiver.onPart(part);
  };
  const isTooLarge = (part: Uint8Array): boolean => isInParts || held.length + part.length > maxBytes;

  return {
    add(part) {
      if (isTooLarge(part)) passOn(part);
      else held.add(part);
    },
    end(part) {
      if (isTooLarge(part)) {
        passOn(part);
        isInParts = false;
        return receiver.onPartsEnd();
      }
      if (held.length === 0) return receiver.onValue(part);
      held.add(part);
      receiver.onValue(held.take());
    },
  };
}
