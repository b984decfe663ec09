import { Base64Decoder, Base64Encoder } from "../../images/base64-stream.js";
import type { ChunkStage } from "../../util/chunk-flow.js";
import { joinChunks } from "../../util/join-chunks.js";
import { encodeText } from "../../util/utf8.js";
import type { ImageMarker } from "./image-marker.js";

/** An image in base64 of a response. */
export interface FoundImage {
  /** The `type` of its event. `undefined` in JSON, and if the type comes after the image. */
  readonly type: string | undefined;
}

/** What is written in place of an image. */
export interface Substitute {
  readonly base64: string;
  /** JSON of more members of its object, with a comma before each. Default: none. */
  readonly members?: string;
}

/** What the stage needs of the call. */
export interface Base64Handler {
  /** Opens the marker of an image. */
  open(): ImageMarker;
  /** The result of an image is known. Returns what is written in its place. `undefined`: the image itself. */
  decided(marker: ImageMarker, found: FoundImage): Substitute | undefined;
  /** The string of an image has ended. */
  ended(marker: ImageMarker, found: FoundImage): void;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LINE_FEED = 0x0a;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const SPACE = 0x20;

/** The beginning of a string that tells whether it is an image. Shorter strings may be the names of members. */
const START_BYTES = 96;
/** Deeper JSON is passed on as it is. */
const MAX_DEPTH = 64;
const DATA_URL = /^data:image\/[\w.+-]{1,40};base64,/i;
/** The first characters of PNG, JPEG and WebP in base64. */
const SIGNATURE = /^(?:iVBORw0KGgo|\/9j\/|UklGR)[\w+/=-]*$/;

const decoder = /* @__PURE__ */ new TextDecoder("latin1");

/**
 * Marks the images in JSON, or in the JSON of events, while it passes. An image is a string in base64 that begins as one, a data URL
 * of an image, or the value of a member for images. All other bytes are passed on as they are.
 *
 * It follows strings and the brackets between them, and does not check JSON: its reader does. In events, a line feed ends everything.
 */
export class Base64Stage implements ChunkStage {
  readonly #handler: Base64Handler;
  readonly #members: ReadonlySet<string>;
  #state: "outside" | "start" | "string" | "image" = "outside";
  /** Whether the body is a stream of events. `undefined` before its first byte. */
  #isEvents: boolean | undefined;
  /** The brackets that are open. */
  #open: number[] = [];
  /** The last structural character. */
  #before = 0;
  /** True after a backslash at the end of a chunk, in a string. */
  #isEscaped = false;
  /** The beginning of the string, in `start`. */
  #start: number[] = [];
  /** The name of the member whose value comes next, or is an array. */
  #member = "";
  /** The last string that may be the name of a member. */
  #last = "";
  #type: string | undefined;
  #image: PassingImage | undefined;
  #output: Uint8Array[] = [];

  /** @param members the names of members whose strings are images, whatever they begin with */
  constructor(handler: Base64Handler, members: ReadonlySet<string>) {
    this.#handler = handler;
    this.#members = members;
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    for (let at = 0; at < chunk.length; ) {
      switch (this.#state) {
        case "outside":
          at = this.#passOutside(chunk, at);
          break;
        case "start":
          at = this.#readStart(chunk, at);
          break;
        case "string":
        case "image":
          at = this.#passString(chunk, at);
      }
    }
    return this.#take();
  }

  end(): readonly Uint8Array[] {
    // The body broke off, and its reader says so.
    if (this.#state === "image") this.#output.push(...(this.#image?.cancel() ?? []));
    else this.#output.push(Uint8Array.from(this.#start));
    return this.#take();
  }

  #take(): readonly Uint8Array[] {
    return this.#output.splice(0).filter(({ length }) => length > 0);
  }

  /** Passes what is between strings. */
  #passOutside(chunk: Uint8Array, from: number): number {
    const quote = chunk.indexOf(QUOTE, from);
    const end = quote === -1 ? chunk.length : quote + 1;
    for (let at = from; at < end; at++) this.#readBetween(chunk[at] ?? 0);
    this.#output.push(chunk.subarray(from, end));
    if (quote === -1) return end;
    this.#state = "start";
    this.#start = [];
    return end;
  }

  #readBetween(byte: number): void {
    if (this.#isEvents === undefined) {
      if (byte <= SPACE || byte > 0x7e) return;
      this.#isEvents = byte !== OPEN_BRACE && byte !== OPEN_BRACKET;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (this.#open.length < MAX_DEPTH) this.#open.push(byte);
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) this.#open.pop();
    else if (byte === LINE_FEED && this.#isEvents) this.#endLine();
    else if (byte === COLON) this.#member = this.#last;
    else if (byte !== COMMA) return;
    this.#before = byte;
  }

  #endLine(): void {
    this.#open = [];
    this.#member = "";
    this.#last = "";
    this.#type = undefined;
  }

  /** True if the string that begins is the name of a member. */
  get #isName(): boolean {
    return this.#open.at(-1) === OPEN_BRACE && this.#before !== COLON;
  }

  #readStart(chunk: Uint8Array, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      const isEnd = byte === QUOTE && !this.#isEscaped;
      if (isEnd || this.#start.length === START_BYTES || (byte === LINE_FEED && this.#isEvents)) {
        this.#decideStart(isEnd);
        return at;
      }
      this.#isEscaped = byte === BACKSLASH && !this.#isEscaped;
      this.#start.push(byte);
    }
    return chunk.length;
  }

  /** @param isWhole true if these are all bytes of the string */
  #decideStart(isWhole: boolean): void {
    const bytes = Uint8Array.from(this.#start);
    this.#start = [];
    const string = decoder.decode(bytes);
    const plain = string.replaceAll("\\/", "/");
    this.#state = "string";
    if (this.#isName) {
      this.#last = isWhole ? string : "";
      this.#output.push(bytes);
      return;
    }
    if (isWhole && this.#member === "type") this.#type = string;
    const isDataUrl = DATA_URL.test(plain);
    const isNamed = this.#members.has(this.#member) && plain !== "";
    if (!isDataUrl && !isNamed && !SIGNATURE.test(plain)) {
      this.#output.push(bytes);
      return;
    }
    const before = isDataUrl ? bytes.indexOf(COMMA) + 1 : 0;
    this.#output.push(bytes.subarray(0, before));
    this.#state = "image";
    this.#image = new PassingImage(this.#handler, { type: this.#isEvents === true ? this.#type : undefined });
    this.#output.push(...this.#image.push(bytes.subarray(before)));
  }

  #passString(chunk: Uint8Array, from: number): number {
    const end = this.#findEnd(chunk, from);
    const part = chunk.subarray(from, end === -1 ? chunk.length : end);
    if (part.length > 0) this.#output.push(...(this.#image?.push(part) ?? [part]));
    if (end === -1) return chunk.length;
    if (this.#image !== undefined) this.#output.push(...this.#image.end());
    const members = this.#open.at(-1) === OPEN_BRACE ? this.#image?.members : undefined;
    this.#image = undefined;
    this.#state = "outside";
    this.#isEscaped = false;
    if (chunk[end] === QUOTE) {
      this.#output.push(chunk.subarray(end, end + 1));
      if (members !== undefined) this.#output.push(encodeText(members));
    }
    // A line feed is read again, between strings.
    return chunk[end] === QUOTE ? end + 1 : end;
  }

  /** The index of the quote, or in events of the line feed, that ends a string. -1: it goes on. */
  #findEnd(chunk: Uint8Array, from: number): number {
    let at = from;
    /** Up to here there is no line feed. */
    let searched = from;
    while (true) {
      if (this.#isEscaped && at < chunk.length) at++;
      this.#isEscaped = false;
      const quote = chunk.indexOf(QUOTE, at);
      const end = quote === -1 ? chunk.length : quote;
      if (this.#isEvents === true) {
        const line = chunk.subarray(searched, end).indexOf(LINE_FEED);
        if (line !== -1) return searched + line;
        searched = end;
      }
      let backslashes = 0;
      while (end - backslashes > at && chunk[end - backslashes - 1] === BACKSLASH) backslashes++;
      this.#isEscaped = backslashes % 2 === 1;
      if (quote === -1) return -1;
      if (!this.#isEscaped) return quote;
      at = quote;
    }
  }
}

/** One image in base64 that passes. */
class PassingImage {
  readonly #handler: Base64Handler;
  readonly #found: FoundImage;
  readonly #decoder = new Base64Decoder();
  readonly #encoder = new Base64Encoder();
  readonly #marker: ImageMarker;
  /** The base64 so far, as it was sent, until the format of the image is known. */
  #raw: Uint8Array[] = [];
  /** Written after the string of an image that is withheld. */
  members: string | undefined;
  /** How the rest passes. `undefined` until the result is known. */
  #mode: "encoded" | "as sent" | "withheld" | undefined;

  constructor(handler: Base64Handler, found: FoundImage) {
    this.#handler = handler;
    this.#found = found;
    this.#marker = handler.open();
  }

  /** @param base64 a part of a JSON string, without its quotes */
  push(base64: Uint8Array): readonly Uint8Array[] {
    if (this.#mode === "as sent") return [base64];
    if (this.#mode === "withheld") return [];
    // Copied, because the memory of the chunk may be used again.
    if (!this.#marker.isKnownFormat) this.#raw.push(new Uint8Array(base64));
    return this.#write(this.#marker.push(this.#decoder.push(base64)));
  }

  end(): readonly Uint8Array[] {
    const last = this.#mode === "withheld" || this.#mode === "as sent" ? [] : this.#endBytes();
    this.#handler.ended(this.#marker, this.#found);
    return last;
  }

  /** The image is not complete. Returns what of it was not passed on. */
  cancel(): readonly Uint8Array[] {
    this.#marker.cancel();
    return this.#mode === undefined ? this.#raw : [];
  }

  #endBytes(): readonly Uint8Array[] {
    const pieces = [
      ...this.#write(this.#marker.push(this.#decoder.end())),
      ...this.#write(this.#marker.end()),
    ];
    if (this.#mode === "encoded") pieces.push(encodeText(this.#encoder.end()));
    return pieces;
  }

  #write(bytes: readonly Uint8Array[]): readonly Uint8Array[] {
    // What is not an image is passed on as it was sent.
    if (this.#marker.isKnownFormat) this.#raw = [];
    if (this.#marker.result === undefined) return [];
    if (this.#mode === undefined) {
      const substitute = this.#handler.decided(this.#marker, this.#found);
      this.#mode = substitute !== undefined ? "withheld" : this.#marker.isKnownFormat ? "encoded" : "as sent";
      this.members = substitute?.members;
      if (substitute !== undefined) return [encodeText(substitute.base64)];
      if (this.#mode === "as sent") return this.#raw;
    }
    if (this.#mode !== "encoded" || bytes.length === 0) return [];
    return [encodeText(this.#encoder.push(bytes.length === 1 && bytes[0] ? bytes[0] : joinChunks(bytes)))];
  }
}
