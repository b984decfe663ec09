import type { ResponseShape } from "../families/response-shape.js";
import { pickMembers } from "../families/shared.js";
import type { ResultError, ResultImage } from "../types.js";
import { createHeldBytes, type HeldBytes } from "../util/held-bytes.js";
import { isJsonObject, type JsonObject, parseJson } from "../util/json.js";
import type { JsonStatus } from "../util/json-walker.js";
import { encodeText } from "../util/utf8.js";
import { ImageObject } from "./image-object.js";
import type { ImagePart } from "./image-parts.js";
import { type JsonScanHandler, JsonScanner } from "./json-scanner.js";
import { FactReader, type ResponseFacts } from "./response-facts.js";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const OPEN_BRACE = 0x7b;
const BRACE = encodeText("{");
const BRACKET = encodeText("[");
const CLOSING_BRACKET = encodeText("]");
const COMMA = encodeText(",");
const COLON = encodeText(":");
/** Smaller pieces are joined, because a write of its own costs more than a copy. */
const COPIED_BYTES = 4 * 1024;

/** Options of a {@link ResponseRewriter}. */
export interface RewriteOptions {
  readonly shape: ResponseShape;
  /** The service model name, which replaces the provider's. */
  readonly model: string;
  /** Seconds since 1970, used if the provider gives no time. */
  readonly now: number;
  /** True if every byte is passed on unchanged, and only the facts are read. Default false. */
  readonly isNative?: boolean | undefined;
  /** True if an image without base64 is handed over, to be converted. Default false. */
  readonly convertsLinks?: boolean | undefined;
  /**
   * True if every image is handed over as {@link ImagePart}, in place of its bytes. Default: true if the family leaves members
   * of items out, otherwise false.
   */
  readonly opensImages?: boolean | undefined;
  /** True if nothing is returned but the images that are handed over: they are written as events. Default false. */
  readonly onlyImages?: boolean | undefined;
  /**
   * In bytes. Values up to this size are parsed as a whole; in larger values, long strings are shortened. Default 16
   * KiB.
   */
  readonly maxHeldBytes?: number | undefined;
}

/** What of a large value is read while it arrives. */
type LargeValue =
  /** A member whose bytes are sent unless it is replaced. */
  | { readonly kind: "member"; readonly isReplaced: boolean }
  /** An item that is handed over. */
  | { readonly kind: "open"; readonly object: ImageObject }
  /** An item whose bytes are sent. They are held until it is known whether it is an image. */
  | { readonly kind: "item"; readonly held: HeldBytes; state: "undecided" | "image" | "dropped" };

/** The bytes of an item that are held until it is known whether it is an image. */
const MAX_ITEM_BYTES = 256 * 1024;

/**
 * Converts a provider's response to the response of `/v1` while it arrives. `model` becomes the service name, failed items
 * move to `extra.errors`, the error of the whole response is left out, `usage` is completed, and `created` is added if it is
 * missing. All other values stay byte by byte; white space between them is dropped. Holds only short values, and of a large item at
 * most 256 KiB until it is known whether it is an image.
 *
 * So a response of any size takes about 2 MB of memory. The simple version is `WholeReader` in json-reader.ts,
 * which parses the whole response; the tests compare the two.
 */
export class ResponseRewriter implements JsonScanHandler {
  /** What the response has said so far. Always the same object. */
  readonly facts: ResponseFacts;
  readonly #shape: ResponseShape;
  readonly #isNative: boolean;
  readonly #convertsLinks: boolean;
  readonly #opensImages: boolean;
  readonly #isWritten: boolean;
  readonly #model: string;
  readonly #now: string;
  readonly #reader: FactReader;
  readonly #scanner: JsonScanner;
  /** Members that the response must have and did not have yet, and their values. */
  readonly #missing: Map<string, string>;
  /** What is sent next. Small pieces are joined in `#small`. */
  #output: (Uint8Array | ImagePart)[] = [];
  readonly #small = createHeldBytes();
  #createdAt: number | undefined;
  #member = "";
  #hasMembers = false;
  #isInItems = false;
  #large: LargeValue | undefined;

  constructor(options: RewriteOptions) {
    const { shape, isNative = false, convertsLinks = false, onlyImages = false, maxHeldBytes } = options;
    const leavesOut = !isNative && shape.leftOut !== undefined;
    this.#shape = shape;
    this.#isNative = isNative;
    this.#convertsLinks = convertsLinks;
    this.#opensImages = options.opensImages ?? (onlyImages || leavesOut);
    this.#isWritten = !isNative && !onlyImages;
    this.#model = JSON.stringify(options.model);
    this.#now = String(options.now);
    this.#missing = new Map([[shape.created, this.#now]]);
    if (shape.addsModel !== false) this.#missing.set(shape.model, this.#model);
    this.#scanner = new JsonScanner(this, { items: shape.items, maxHeldBytes });
    this.#reader = new FactReader(shape, () => this.status() === "complete");
    this.facts = this.#reader;
  }

  /** Whether the upstream response is complete, or is not a JSON object. */
  status(): JsonStatus {
    return this.#scanner.status();
  }

  /** Returns the bytes to send on. They may share the memory of the chunk. */
  push(chunk: Uint8Array): readonly (Uint8Array | ImagePart)[] {
    this.#scanner.push(chunk);
    if (!this.#isNative) return this.#take();
    // The bytes of a native response are sent as they are. Its images are stored besides.
    return this.#opensImages ? [chunk, ...this.#take()] : [chunk];
  }

  /**
   * Returns the last bytes, without which the response is incomplete. Returns none if the upstream response is not
   * complete, has no image or reports a failure, or if its bytes are passed on unchanged or are not wanted.
   *
   * @param linkErrors why links could not be converted, for `extra.errors`
   */
  end(linkErrors: readonly ResultError[] = []): readonly Uint8Array[] {
    const { images, failure } = this.facts;
    const isUsable = this.#isWritten && images > 0 && failure === undefined;
    if (this.status() !== "complete" || !isUsable) return [];
    for (const [name, value] of this.#missing) {
      this.#writeKey(JSON.stringify(name));
      this.#write(value);
    }
    const errors = [...this.facts.errors, ...linkErrors];
    if (errors.length > 0) {
      // An `extra` of the provider's own stands before it, and the last one counts.
      this.#writeKey('"extra"');
      this.#write(JSON.stringify({ errors }));
    }
    this.#write("}");
    // The last pieces have no links.
    return this.#take().filter((piece) => piece instanceof Uint8Array);
  }

  /** For the scanner, as all methods that begin with `on`. */
  onMember(key: string, written: Uint8Array): void {
    this.#member = key;
    this.#missing.delete(key);
    if (key !== this.#shape.failure) this.#writeKey(written);
  }

  onItems(): void {
    this.#isInItems = true;
    this.#reader.readMember(this.#member, []);
    this.#write(BRACKET);
  }

  onItemsEnd(): void {
    this.#isInItems = false;
    this.#write(CLOSING_BRACKET);
  }

  onValue(bytes: Uint8Array): void {
    const value = this.#parse(bytes);
    if (!this.#isInItems) {
      const replacement = this.#replaceMember(value);
      const isUsage = this.#member === this.#shape.usage;
      return this.#write(isUsage ? JSON.stringify(this.facts.report) : (replacement ?? bytes));
    }
    if (!this.#reader.readItem(value)) return;
    if (this.#opensImages && isJsonObject(value)) return this.#handOver(value);
    if (this.#convertsLinks && isLink(value)) return this.#handOverLink(value);
    this.#beginImage();
    this.#write(bytes);
  }

  onPart(bytes: Uint8Array): void {
    const large = this.#beginLarge(bytes);
    if (large.kind === "open") return;
    if (large.kind === "member") {
      if (!large.isReplaced) this.#write(bytes);
    } else if (large.state === "image") this.#write(bytes);
    else if (large.state === "undecided" && !this.#isNative) {
      if (large.held.length + bytes.length <= MAX_ITEM_BYTES) return large.held.add(bytes);
      large.held.take();
      large.state = "dropped";
    }
  }

  /** An item that is large because of its image has a long string. Its kind is decided when that string begins. */
  onLongString(): boolean {
    const large = this.#beginLarge(this.#scanner.text);
    if (large.kind === "open") {
      return large.object.addLongString(this.#scanner, (before, all) => this.#beginOpen(before, all));
    }
    if (large.kind === "member" || large.state !== "undecided") return false;
    const item = this.#scanner.readValue();
    if (this.#reader.isImage(item) && !this.#isConverted(item)) this.#beginLargeImage(large);
    return false;
  }

  onStringPart(bytes: Uint8Array): void {
    this.#output.push({ kind: "base64", bytes });
  }

  onPartsEnd(text: Uint8Array): void {
    const large = this.#large;
    this.#large = undefined;
    if (large?.kind === "open") return this.#endOpen(large.object, text);
    const value = parseJson(decoder.decode(text));
    if (large?.kind === "item") return this.#endItem(large, value);
    const { failure, usage } = this.#shape;
    if (value !== undefined && [failure, usage].includes(this.#member)) {
      this.#reader.readMember(this.#member, value);
    }
  }

  #beginLarge(start: Uint8Array): LargeValue {
    this.#large ??= this.#isInItems ? this.#beginItem() : this.#beginMember(start);
    return this.#large;
  }

  #beginItem(): LargeValue {
    if (this.#opensImages) return { kind: "open", object: new ImageObject() };
    return { kind: "item", held: createHeldBytes(), state: "undecided" };
  }

  /** A large member is passed on as it arrives, unless it is replaced, and its text is read at its end. */
  #beginMember(start: Uint8Array): LargeValue {
    const replacement = this.#replaceMember(start[0] === OPEN_BRACE ? {} : undefined);
    if (replacement !== undefined) this.#write(replacement);
    return { kind: "member", isReplaced: replacement !== undefined };
  }

  #isConverted(item: unknown): boolean {
    return this.#convertsLinks && isLink(item);
  }

  #beginLargeImage(large: Extract<LargeValue, { kind: "item" }>): void {
    large.state = "image";
    this.#reader.countImage();
    this.#beginImage();
    if (large.held.length > 0) this.#write(large.held.take());
  }

  #endItem(large: Extract<LargeValue, { kind: "item" }>, value: unknown): void {
    if (large.state === "image") return this.#reader.readImage(value);
    if (value === undefined) return this.#scanner.giveUp();
    if (!this.#reader.isImage(value)) return void this.#reader.readItem(value);
    if (large.state === "dropped") return this.#scanner.giveUp();
    if (this.#isConverted(value)) {
      const item = this.#parse(large.held.take());
      if (this.#reader.readItem(item) && isLink(item)) this.#handOverLink(item);
      return;
    }
    this.#beginLargeImage(large);
    this.#reader.readImage(value);
  }

  #beginOpen(before: JsonObject, all: JsonObject): boolean {
    if (!this.#reader.isImage(all)) return false;
    this.#reader.countImage();
    const members = pickMembers(before, this.#shape.leftOut);
    this.#addOther({ kind: "begin", members, createdAt: this.#createdAt });
    return true;
  }

  #endOpen(object: ImageObject, text: Uint8Array): void {
    const end = object.end(text);
    if (end === undefined) return this.#scanner.giveUp();
    if (object.hasBegun) {
      this.#reader.readImage(end.members);
      const { leftOut } = this.#shape;
      this.#addOther({
        kind: "end",
        members: pickMembers(end.members, leftOut),
        later: pickMembers(end.later, leftOut),
        index: this.#lastIndex(),
      });
    } else if (this.#reader.readItem(end.shortened)) this.#handOver(end.members);
  }

  /** An image that was counted. */
  #handOver(item: JsonObject): void {
    this.#addOther({
      kind: "image",
      image: pickMembers(item, this.#shape.leftOut),
      index: this.#lastIndex(),
      createdAt: this.#createdAt,
    });
  }

  /** The image was already counted. */
  #handOverLink(image: ResultImage): void {
    this.#beginImage();
    this.#addOther({ kind: "image", image, index: this.#lastIndex(), isBegun: true });
  }

  /** Every image but the first has a comma before it. */
  #beginImage(): void {
    if (this.facts.images > 1) this.#write(COMMA);
  }

  /** The index of the image that was counted last. */
  #lastIndex(): number {
    return this.facts.images + this.facts.errors.length - 1;
  }

  /** Returns what replaces the current member's value, or `undefined` if the value stays. */
  #replaceMember(value: unknown): string | undefined {
    const { created, failure, model } = this.#shape;
    this.#reader.readMember(this.#member, value);
    if (this.#member === created) this.#createdAt = this.#shape.readCreated(value);
    if (this.#member === failure) return "";
    if (this.#member === model) return this.#model;
    return this.#member === created && this.#createdAt === undefined ? this.#now : undefined;
  }

  /** Gives the response up if the value is not JSON. */
  #parse(bytes: Uint8Array): unknown {
    const value = parseJson(decoder.decode(bytes));
    if (value === undefined) this.#scanner.giveUp();
    return value;
  }

  #writeKey(written: Uint8Array | string): void {
    this.#write(this.#hasMembers ? COMMA : BRACE);
    this.#write(written);
    this.#write(COLON);
    this.#hasMembers = true;
  }

  #write(piece: Uint8Array | string): void {
    if (!this.#isWritten) return;
    const bytes = typeof piece === "string" ? encodeText(piece) : piece;
    if (bytes.length < COPIED_BYTES) return this.#small.add(bytes);
    this.#endSmall();
    this.#output.push(bytes);
  }

  #addOther(other: ImagePart): void {
    this.#endSmall();
    this.#output.push(other);
  }

  #endSmall(): void {
    if (this.#small.length > 0) this.#output.push(this.#small.take());
  }

  #take(): readonly (Uint8Array | ImagePart)[] {
    this.#endSmall();
    const taken = this.#output;
    this.#output = [];
    return taken;
  }
}

/** An image that the provider delivered as a link only. */
export function isLink(item: unknown): item is ResultImage & { readonly url: string } {
  return isJsonObject(item) && typeof item["url"] === "string" && !item["b64_json"];
}
