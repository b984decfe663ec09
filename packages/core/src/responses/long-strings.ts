import { createHeldBytes } from "../util/held-bytes.js";
import { type JsonPart, JsonWalker, type JsonWalkHandler } from "../util/json-walker.js";
import { MAX_OUTLINE_BYTES, RESPONSE_BOUNDS } from "../util/response-bounds.js";
import { encodeText } from "../util/utf8.js";
import type { EarlyImage } from "./early-images.js";
import { countCutEscape } from "./shorten-json.js";

const QUOTE = Uint8Array.of(0x22);
const decoder = new TextDecoder();

/** The bytes of a longer string that stay in the text. In base64 they tell the size of nearly every JPEG. */
const MAX_STRING_BYTES = 128 * 1024;

/** A long string of a document. */
export type LongString =
  /** Its bytes as they are written, with quotes. */
  | { readonly bytes: readonly Uint8Array[] }
  /** It was handed over while it arrived. */
  | { readonly image: EarlyImage };

/** Which long strings are handed over while they arrive. */
export interface EarlyStrings {
  /** The names of members from the top, and `*` for the items of a list. */
  readonly path: readonly string[];
  /** Called when a string at this path turns out to be long. If it returns nothing, the string is held. */
  begin(): EarlyImage | undefined;
}

/**
 * Takes the long strings out of JSON that arrives in chunks, so that base64 of many megabytes is never a string in memory. The
 * bytes of long strings stay in the chunks in which they arrived, or are handed over.
 *
 * A response of Gemini with an image of 30 MB makes the process grow by 53 MiB in place of 302. The simple version parses the
 * whole response, as for families without `cutsBase64`.
 */
export class LongStrings implements JsonWalkHandler {
  readonly #text = createHeldBytes();
  /** Random, so that a provider cannot write it. */
  readonly #mark = crypto.randomUUID().replaceAll("-", "");
  readonly #early: EarlyStrings | undefined;
  readonly #strings: LongString[] = [];
  readonly #walker = new JsonWalker(this, RESPONSE_BOUNDS);
  /** The chunk that is being read, and what of it has been read. */
  #chunk: Uint8Array = new Uint8Array();
  #read = 0;
  /** For each depth, the name of the last member, or `*` in a list. Depth 1 is inside the top-level object. */
  readonly #names: string[] = [];
  /** Where the current key begins in the text. */
  #keyStart = 0;
  #depth = 0;
  #isInString = false;
  #isInKey = false;
  /** The bytes of the current string, without its quotes. */
  #parts: Uint8Array[] = [];
  #length = 0;
  /** The current string, if it is handed over. */
  #image: EarlyImage | undefined;

  /** @param early Default: all strings are held. */
  constructor(early?: EarlyStrings) {
    this.#early = early;
  }

  /** The text is valid until the next `push`: the JSON so far, with long strings cut short, and a mark at the end of each. */
  get text(): Uint8Array {
    return this.#text.view();
  }

  push(chunk: Uint8Array): void {
    // It is not JSON, which the text shows already.
    if (this.#walker.status() === "broken") return;
    this.#chunk = chunk;
    this.#read = 0;
    this.#walker.push(chunk);
    this.#readTo(chunk.length);
    if (this.#text.length > MAX_OUTLINE_BYTES) this.#walker.giveUp("excessive");
  }

  /** True if the document is beyond the bounds of a response. Nothing more must be pushed then. */
  get isExcessive(): boolean {
    return this.#walker.status() === "excessive";
  }

  /**
   * Returns the long string behind a string of the text. `undefined` if the string is not a long one.
   *
   * @throws TypeError if the end of a long string was changed
   */
  find(string: string): LongString | undefined {
    const at = string.lastIndexOf(this.#mark);
    if (at === -1) return undefined;
    const found = this.#strings[Number(string.slice(at + this.#mark.length))];
    if (found === undefined) throw new TypeError("A family changed base64 that was cut.");
    return found;
  }

  /** For the walker. */
  onBegin(part: JsonPart, depth: number, index: number): void {
    if (part === "object" || part === "array") this.#names[depth + 1] = part === "array" ? "*" : "";
    if (part !== "key" && part !== "string") return;
    this.#readTo(index + 1);
    this.#isInString = true;
    this.#isInKey = part === "key";
    this.#depth = depth;
    this.#keyStart = this.#text.length;
  }

  /** For the walker. */
  onEnd(_chunk: Uint8Array, depth: number, index: number): void {
    if (!this.#isInString) return;
    this.#readTo(index - 1);
    // A name with escapes is another name here, and its strings are held.
    if (this.#isInKey) this.#names[depth] = decoder.decode(this.#text.view().subarray(this.#keyStart));
    this.#endString();
  }

  /** Reads the chunk up to this index: a part of a string, or what is around strings. */
  #readTo(index: number): void {
    const part = this.#chunk.subarray(this.#read, Math.max(this.#read, index));
    this.#read += part.length;
    if (this.#isInString) this.#add(part);
    else this.#text.add(part);
  }

  #add(part: Uint8Array): void {
    if (part.length === 0) return;
    if (this.#image === undefined) this.#parts.push(part);
    else this.#image.push(part);
    const left = MAX_STRING_BYTES - this.#length;
    this.#length += part.length;
    if (left < 0) return;
    this.#text.add(part.subarray(0, left));
    if (part.length <= left) return;
    this.#text.removeEnd(countCutEscape(this.#text.view()));
    this.#text.add(encodeText(`${this.#mark}${this.#strings.length}`));
    this.#handOver();
  }

  /** The current string has become long. */
  #handOver(): void {
    if (this.#isInKey || !this.#isAtPath()) return;
    this.#image = this.#early?.begin();
    if (this.#image === undefined) return;
    for (const part of this.#parts.splice(0)) this.#image.push(part);
  }

  #isAtPath(): boolean {
    const path = this.#early?.path;
    return path?.length === this.#depth && path.every((name, at) => this.#names[at + 1] === name);
  }

  #endString(): void {
    if (this.#length > MAX_STRING_BYTES) {
      const image = this.#image;
      this.#strings.push(image === undefined ? { bytes: [QUOTE, ...this.#parts, QUOTE] } : { image });
    }
    this.#image = undefined;
    this.#isInString = false;
    this.#parts = [];
    this.#length = 0;
  }
}
