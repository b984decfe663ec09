import { createHeldBytes } from "../util/held-bytes.js";
import { parseJson } from "../util/json.js";
import { type JsonPart, type JsonStatus, JsonWalker, type JsonWalkHandler } from "../util/json-walker.js";
import { RESPONSE_BOUNDS } from "../util/response-bounds.js";
import { countCutEscape } from "./shorten-json.js";

const DEFAULT_HELD_BYTES = 16 * 1024;
const DEFAULT_STRING_BYTES = 8 * 1024;
const DEFAULT_TEXT_BYTES = 256 * 1024;
/** The maximum number of keys, values and items that are reported. A response of 15 images has far fewer. */
const MAX_REPORTED = 1_000;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Listeners for the content of a JSON object, called in the order of its bytes. For a member, `onMember` is called and then a
 * listener for its value. For the member of the items, `onMember`, `onItems`, the listeners for each item and `onItemsEnd` are
 * called. Bytes may belong to a chunk, so they must be copied to be kept.
 */
export interface JsonScanHandler {
  /** A top-level member begins. `key` is the parsed key, `written` its bytes with quotes. */
  onMember?(key: string, written: Uint8Array): void;
  /** The value is the array whose items are reported one by one. */
  onItems?(): void;
  onItemsEnd?(): void;
  /** A value of at most `maxHeldBytes`, as it is written. */
  onValue(bytes: Uint8Array): void;
  /** The next part of a larger value, from its first byte on. */
  onPart?(bytes: Uint8Array): void;
  /** A larger value has ended. `text` is its JSON, in which long strings are cut short. */
  onPartsEnd(text: Uint8Array): void;
  /** A string in a larger value has become long. Called once for each. Returns true if its bytes are wanted. */
  onLongString?(): boolean;
  /** Bytes of a wanted string, with its quotes. */
  onStringPart?(bytes: Uint8Array): void;
}

/** Options of a {@link JsonScanner}. */
export interface JsonScanOptions {
  /** The top-level member whose array items are reported one by one. Default: the whole object is reported as one value. */
  readonly items?: string | undefined;
  /**
   * A value of up to this size is reported whole, a larger one in parts. A longer string is a long one. A key of the top level
   * must not be larger. Default 16 KiB.
   */
  readonly maxHeldBytes?: number | undefined;
  /** The bytes of a long string that stay in the text, at most `maxHeldBytes`. Default 8 KiB. */
  readonly maxStringBytes?: number | undefined;
  /** The text of a value has at most this many bytes. Of a longer one, the end is missing. Default 256 KiB. */
  readonly maxTextBytes?: number | undefined;
}

/**
 * Reports the members of one JSON object that arrives in chunks, or the object as one value. Holds only short values, and of
 * larger ones a text in which long strings are cut short. Long strings are skipped with `indexOf`: a response of 32 MB takes
 * 5 ms and 2 MB of memory, with `JSON.parse` 45 ms and 101 MB.
 *
 * The status becomes `broken` if the document is not an object; if a bracket, comma, colon or quote is missing or
 * misplaced; at a byte that cannot begin a value; at a key that is too large or wrongly escaped; at anything but white space
 * after the end. It becomes `excessive` beyond `RESPONSE_BOUNDS`, and at more than a thousand reported values. The scanner does not
 * notice misspelled numbers and literals (`01`, `trve`), and in strings wrong escapes, control characters and invalid UTF-8.
 * A listener notices them when it parses the value.
 */
export class JsonScanner implements JsonWalkHandler {
  readonly #handler: JsonScanHandler;
  readonly #items: string | undefined;
  readonly #maxHeldBytes: number;
  readonly #maxStringBytes: number;
  readonly #maxTextBytes: number;
  readonly #walker = new JsonWalker(this, RESPONSE_BOUNDS);
  #key = "";
  #isInItems = false;
  #reported = 0;
  #chunk: Uint8Array = new Uint8Array();

  /** What is being read: a key of the top level, or a value. */
  #open: "key" | "value" | undefined;
  #depth = 0;
  /** Where it begins in the chunk. */
  #start = 0;
  /** Its bytes in the chunks before. */
  #size = 0;
  #isLarge = false;
  /** Its JSON: what is before `#textEnd` in the chunk, and all of the chunks before. */
  readonly #text = createHeldBytes();
  #textEnd = 0;
  /** True if the text of a value is longer than it may be. */
  isTextCut = false;

  #isInString = false;
  /** Where the current string begins in the chunk, with its quote. */
  #stringStart = 0;
  /** Its bytes in the chunks before. */
  #stringSize = 0;
  #isLong = false;
  #isWanted = false;

  constructor(
    handler: JsonScanHandler,
    {
      items,
      maxHeldBytes = DEFAULT_HELD_BYTES,
      maxStringBytes = DEFAULT_STRING_BYTES,
      maxTextBytes = DEFAULT_TEXT_BYTES,
    }: JsonScanOptions = {},
  ) {
    this.#handler = handler;
    this.#items = items;
    this.#maxHeldBytes = maxHeldBytes;
    this.#maxStringBytes = Math.min(maxStringBytes, maxHeldBytes);
    this.#maxTextBytes = maxTextBytes;
  }

  push(chunk: Uint8Array): void {
    this.#chunk = chunk;
    this.#start = 0;
    this.#textEnd = 0;
    this.#stringStart = 0;
    this.#walker.push(chunk);
    if (this.#open !== undefined && this.status() === "open") this.#holdRest(chunk);
  }

  /** Makes the document `broken`, or `excessive`. */
  giveUp(reason?: "broken" | "excessive"): void {
    this.#walker.giveUp(reason);
  }

  status(): JsonStatus {
    return this.#walker.status();
  }

  /** The text of the current value so far. Call it when a string of it has become long. Valid until the next change. */
  get text(): Uint8Array {
    return this.#text.view();
  }

  /** Adds to the text of the current value. Call it when a string of it has become long: the string then ends with this. */
  mark(text: Uint8Array): void {
    this.#text.add(text);
  }

  /** What has arrived of the current value. Call it when a string of it has become long. `undefined` if it is not JSON. */
  readValue(): unknown {
    return parseJson(`${decoder.decode(this.#text.view())}"${this.#walker.closersFrom(this.#depth)}`);
  }

  /** For the walker. */
  onBegin(part: JsonPart, depth: number, index: number): void {
    if (this.#open === undefined && !this.#begin(part, depth, index)) return;
    if (part !== "string" && part !== "key") return;
    this.#isInString = true;
    this.#stringStart = index;
    this.#stringSize = 0;
  }

  /** For the walker. */
  onEnd(chunk: Uint8Array, depth: number, index: number): void {
    if (this.#isInString) this.#endString(index);
    if (this.#open !== undefined) {
      if (depth === this.#depth) this.#end(chunk, index);
    } else if (this.#isInItems) {
      this.#isInItems = false;
      this.#handler.onItemsEnd?.();
    }
  }

  /** Returns false if it is not reported as one value. */
  #begin(part: JsonPart, depth: number, index: number): boolean {
    if (this.#items !== undefined) {
      if (depth === 0) return false;
      if (part === "array" && depth === 1 && this.#key === this.#items) {
        this.#isInItems = true;
        this.#handler.onItems?.();
        return false;
      }
      this.#reported++;
      if (this.#reported > MAX_REPORTED) {
        this.giveUp("excessive");
        return false;
      }
    }
    this.#open = part === "key" ? "key" : "value";
    this.#depth = depth;
    this.#start = index;
    this.#textEnd = index;
    this.#size = 0;
    this.isTextCut = false;
    return true;
  }

  #end(chunk: Uint8Array, index: number): void {
    const part = chunk.subarray(this.#start, index);
    this.#checkSize(part);
    if (this.#size > 0 || this.#isLarge) this.#addText(index);
    const isKey = this.#open === "key";
    this.#open = undefined;
    if (this.#isLarge) {
      this.#isLarge = false;
      this.#handler.onPart?.(part);
      return this.#handler.onPartsEnd(this.#text.take());
    }
    const bytes = this.#size > 0 ? this.#text.take() : part;
    if (isKey) this.#endKey(bytes);
    else this.#handler.onValue(bytes);
  }

  #endKey(written: Uint8Array): void {
    const key = written.length > this.#maxHeldBytes ? undefined : parseJson(decoder.decode(written));
    if (typeof key !== "string") return this.giveUp();
    this.#key = key;
    this.#handler.onMember?.(key, written);
  }

  /** The value goes on in the next chunk. */
  #holdRest(chunk: Uint8Array): void {
    if (this.#isInString) {
      this.#readString(chunk.length, chunk.length);
      this.#stringSize += chunk.length - this.#stringStart;
    }
    const part = this.#slice(this.#start, chunk.length);
    this.#checkSize(part);
    this.#addText(chunk.length);
    this.#size += part.length;
    if (this.#isLarge) this.#handler.onPart?.(part);
  }

  /** A part of the chunk. All of it is the same object, so that its memory can be freed. */
  #slice(start: number, end: number): Uint8Array {
    return start === 0 && end === this.#chunk.length ? this.#chunk : this.#chunk.subarray(start, end);
  }

  #checkSize(part: Uint8Array): void {
    if (!this.#isLarge && this.#size + part.length > this.#maxHeldBytes) this.#becomeLarge();
  }

  /** What has arrived of the value in the chunks before is passed on. No string of it has been cut. */
  #becomeLarge(): void {
    if (this.#open === "key") return this.giveUp();
    this.#isLarge = true;
    // Copied, because the text goes on.
    if (this.#size > 0) this.#handler.onPart?.(this.#text.view().slice(0, this.#size));
  }

  #addText(end: number): void {
    if (end === this.#textEnd) return;
    const part = this.#chunk.subarray(this.#textEnd, end);
    this.#textEnd = end;
    const left = this.#maxTextBytes - this.#text.length;
    this.isTextCut ||= part.length > left;
    this.#text.add(part.length > left ? part.subarray(0, left) : part);
  }

  #endString(index: number): void {
    this.#readString(index, index - 1);
    this.#isInString = false;
    // The text has the last quote of a string that was cut.
    if (this.#isLong) this.#textEnd = index - 1;
    this.#isLong = false;
    this.#isWanted = false;
  }

  /**
   * Reads the current string up to `end`. The text has only the first bytes of a long one.
   *
   * @param contentEnd `end` without the last quote
   */
  #readString(end: number, contentEnd: number): void {
    if (this.#isLong) {
      this.#textEnd = end;
      if (this.#isWanted) this.#handler.onStringPart?.(this.#slice(this.#stringStart, end));
      return;
    }
    const size = this.#stringSize + contentEnd - this.#stringStart;
    if (size <= 1 + this.#maxHeldBytes || this.#open === "key") return;
    if (!this.#isLarge) this.#becomeLarge();
    const begun = this.#text.view().slice(this.#text.length - this.#stringSize);
    const missing = 1 + this.#maxStringBytes - this.#stringSize;
    if (missing > 0) this.#addText(this.#stringStart + missing);
    else this.#text.removeEnd(-missing);
    this.#text.removeEnd(countCutEscape(this.#text.view()));
    this.#textEnd = end;
    this.#isLong = true;
    this.#isWanted = !this.isTextCut && this.#handler.onLongString?.() === true;
    if (!this.#isWanted) return;
    if (begun.length > 0) this.#handler.onStringPart?.(begun);
    this.#handler.onStringPart?.(this.#slice(this.#stringStart, end));
  }
}
