import type { StreamShape } from "../families/family.js";
import { TransportError } from "../upstream/transport.js";
import { createHeldBytes } from "../util/held-bytes.js";
import type { JsonObject } from "../util/json.js";
import type { ErrorEnvelope } from "./envelope.js";
import { createJsonScanner, type JsonScanner } from "./json-scanner.js";
import {
  type OpenAiEvents,
  type StreamSummary,
  writeImage,
  writeMembers,
  writeMissingFormat,
} from "./openai-events.js";
import type { StreamTranslation } from "./sse.js";
import { LineScanner } from "./sse-lines.js";

/** What the translation of a stream needs besides its bytes. */
export interface TranslationOptions {
  readonly shape: StreamShape;
  readonly events: OpenAiEvents;
  /** The largest number of images that the stream can have. */
  readonly maxImages: number;
  /** The reader of the provider's events. It gets each chunk first. */
  readonly reader: {
    /** True when the provider has reported the final usage. */
    readonly isOver: () => boolean;
    /** What is known of the stream so far. */
    readonly summary: () => StreamSummary;
    /** Why a stream that has ended has no image. */
    readonly noImageError: () => ErrorEnvelope;
    /** The error of a stream that broke off. */
    readonly toEnvelope: (error: unknown) => ErrorEnvelope;
  };
}

const encoder = new TextEncoder();

/**
 * Translates a provider's stream into one of OpenAI's images API, while it arrives. The base64 of an image is passed on in
 * the chunks in which it arrives, so an image of any size takes no memory. Events without an image are left out; what
 * they say is in the reader's summary.
 */
export class OpenAiTranslation implements StreamTranslation {
  readonly #options: TranslationOptions;
  readonly #images: ImageTranslator;
  #hasEnded = false;

  constructor(options: TranslationOptions) {
    this.#options = options;
    const { events, maxImages, reader } = options;
    const isLastImage = (): boolean => events.images + reader.summary().errors.length >= maxImages;
    this.#images = new ImageTranslator({ ...options, isLastImage });
  }

  push(chunk: Uint8Array): readonly Uint8Array[] {
    // Nothing can follow the end of a stream.
    if (this.#hasEnded) return [];
    const translated = this.#images.push(chunk).map(toBytes);
    // The usage ends the stream, even if the provider leaves its connection open.
    return this.#isWhole() ? [...translated, ...this.end()] : translated;
  }

  checkEnd(): void {
    if (!this.#hasEnded && this.#options.events.isInsideImage) {
      throw new TransportError("broken", new Error("The stream ended inside an image."));
    }
  }

  end(): readonly Uint8Array[] {
    if (this.#hasEnded) return [];
    this.#hasEnded = true;
    const { events, reader } = this.#options;
    const end = events.images === 0 ? events.fail(reader.noImageError()) : events.end(reader.summary());
    return [encoder.encode(end)];
  }

  fail(error: unknown): Uint8Array | undefined {
    // Everything has come, so the failure changes nothing for the client.
    if (this.#hasEnded) return new Uint8Array(0);
    const { events, reader } = this.#options;
    if (reader.isOver() && events.images > 0 && !events.isInsideImage) return this.end()[0];
    const failed = events.fail(reader.toEnvelope(error));
    return failed === undefined ? undefined : encoder.encode(failed);
  }

  /** True if the usage and all images that it reports have come. A provider may send an image after the usage. */
  #isWhole(): boolean {
    const { events, reader } = this.#options;
    if (!reader.isOver() || events.isInsideImage) return false;
    const { usage, errors } = reader.summary();
    const reported = usage?.["generated_images"];
    const isAnyMissing = typeof reported === "number" && events.images < reported;
    return events.images + errors.length > 0 && !isAnyMissing;
  }

  beat(): readonly Uint8Array[] {
    const sent = this.#hasEnded ? "" : this.#options.events.beat();
    return sent === "" ? [] : [encoder.encode(sent)];
  }
}

function toBytes(piece: string | Uint8Array): Uint8Array {
  return typeof piece === "string" ? encoder.encode(piece) : piece;
}

interface ImageTranslatorOptions extends Pick<TranslationOptions, "shape" | "events"> {
  /** Whether the image that ends now is the last one that the stream can have. */
  readonly isLastImage: () => boolean;
}

/** Translates the events that have images. */
class ImageTranslator {
  readonly #options: ImageTranslatorOptions;
  readonly #lines: EventLines;
  #pieces: (string | Uint8Array)[] = [];
  /** The event that is being read, from the first byte of its data on. */
  #current: EventObject | undefined;

  constructor(options: ImageTranslatorOptions) {
    this.#options = options;
    this.#lines = new EventLines({
      onData: (bytes) => {
        this.#current ??= new EventObject(options, (piece) => void this.#pieces.push(piece));
        this.#current.push(bytes);
      },
      onEvent: (name) => this.#endEvent(name),
    });
  }

  /**
   * Returns what is sent for a chunk. The pieces may share the memory of the chunk.
   *
   * @throws TypeError if an image has begun, and the rest of its event is not JSON
   */
  push(chunk: Uint8Array): readonly (string | Uint8Array)[] {
    this.#lines.push(chunk);
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  #endEvent(name: string | undefined): void {
    const event = this.#current;
    this.#current = undefined;
    const image = event?.end(name ?? "");
    if (image === undefined) return;
    const { events, isLastImage } = this.#options;
    const { members, createdAt, isBegun } = image;
    const written = isBegun
      ? writeMissingFormat(members)
      : events.beginImage(createdAt) + writeImage(members);
    this.#pieces.push(written + events.endImage(isLastImage()));
  }
}

/** An image that has ended. */
interface EndedImage {
  /** The members of the image. Of base64 that was passed on, only the beginning. */
  readonly members: JsonObject;
  readonly createdAt: number | undefined;
  /** True if its event has begun, so that its members have been sent. */
  readonly isBegun: boolean;
}

/** The members whose long values are passed on as they arrive. */
const BASE64 = "b64_json";
/** In characters. Enough to detect the format of the image. */
const KEPT_BASE64 = 64;
const decoder = new TextDecoder();

/** Reads the data of one event, a JSON object. */
class EventObject {
  readonly #options: ImageTranslatorOptions;
  readonly #write: (piece: string | Uint8Array) => void;
  readonly #scanner: JsonScanner;
  readonly #members: Record<string, unknown> = {};
  #key = "";
  /** True when a part of the base64 has been passed on. */
  #isBegun = false;
  /** True in a long value that is passed on. */
  #isPassing = false;

  constructor(options: ImageTranslatorOptions, write: (piece: string | Uint8Array) => void) {
    this.#options = options;
    this.#write = write;
    this.#scanner = createJsonScanner(
      {
        onMember: (key) => {
          this.#key = key;
        },
        onValue: (bytes) => this.#readValue(bytes),
        onPart: (bytes) => this.#readPart(bytes),
        onPartsEnd: () => {
          this.#isPassing = false;
        },
        onItems: () => {},
        onItemsEnd: () => {},
      },
      { items: NO_ITEMS },
    );
  }

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  /**
   * Returns the image of the event, if it has one.
   *
   * @param name the name of the event, used if its data has no `type`
   */
  end(name: string): EndedImage | undefined {
    const isComplete = this.#scanner.status() === "complete";
    if (this.#isBegun && !isComplete) throw new TypeError("The event of an image is not JSON.");
    if (!isComplete || (this.#type ?? name) !== this.#options.shape.imageEvent) return undefined;
    const members = this.#pickMembers();
    const hasImage = isFilled(members["url"]) || isFilled(members[BASE64]);
    return hasImage ? { members, createdAt: this.#createdAt, isBegun: this.#isBegun } : undefined;
  }

  get #type(): string | undefined {
    const { type } = this.#members;
    return typeof type === "string" ? type : undefined;
  }

  get #createdAt(): number | undefined {
    const created = this.#members[this.#options.shape.created];
    return Number.isSafeInteger(created) ? Number(created) : undefined;
  }

  #pickMembers(): JsonObject {
    const { leftOut } = this.#options.shape;
    return Object.fromEntries(Object.entries(this.#members).filter(([key]) => !leftOut.includes(key)));
  }

  #readValue(bytes: Uint8Array): void {
    const value = parse(bytes);
    if (value === undefined) return this.#scanner.giveUp();
    this.#define(this.#key, value);
    if (!this.#isBegun || this.#options.shape.leftOut.includes(this.#key)) return;
    this.#write(writeMembers({ [this.#key]: value }));
  }

  /** A value that is too long to be held. Any but an image is left out. */
  #readPart(bytes: Uint8Array): void {
    if (this.#isPassing) return this.#write(bytes);
    const { shape, events } = this.#options;
    const isImage = (this.#type ?? shape.imageEvent) === shape.imageEvent;
    if (this.#key !== BASE64 || !isImage || this.#isBegun) return;
    const others = this.#pickMembers();
    // Without the opening quote. The end of the string is not needed.
    this.#define(BASE64, decoder.decode(bytes.subarray(1, 1 + KEPT_BASE64)));
    this.#isBegun = true;
    this.#isPassing = true;
    this.#write(`${events.beginImage(this.#createdAt)}${writeMembers(others)},"${BASE64}":`);
    this.#write(bytes);
  }

  /** Also for a key such as `__proto__`. */
  #define(key: string, value: unknown): void {
    Object.defineProperty(this.#members, key, { value, enumerable: true, configurable: true });
  }
}

/** No member of an event is read item by item. */
const NO_ITEMS = "\0";

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** `undefined` if the bytes are not JSON. */
function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
}

/** The handler of {@link EventLines}. */
interface EventLineHandler {
  /** Bytes of the `data` of the current event. */
  onData(bytes: Uint8Array): void;
  /** The current event has ended. `name` is the value of its field `event`. */
  onEvent(name: string | undefined): void;
}

const DATA = new TextEncoder().encode("data:");
const BYTE_ORDER_MARK = Uint8Array.of(0xef, 0xbb, 0xbf);
const LINE_BREAK = Uint8Array.of(0x0a);
/** In bytes. Of a longer line that is not data, the rest is ignored. */
const MAX_FIELD_BYTES = 1_024;

/** Splits a stream of events into their names and the bytes of their data. Holds only short fields. */
class EventLines {
  readonly #handler: EventLineHandler;
  readonly #scanner: LineScanner;
  /** The beginning of the current line, until it is known that the line is data. */
  readonly #field = createHeldBytes();
  #isData = false;
  #hasData = false;
  #name: string | undefined;
  /** How many bytes of a byte order mark at the beginning were skipped; all of them when something else came. */
  #marked = 0;

  constructor(handler: EventLineHandler) {
    this.#handler = handler;
    this.#scanner = new LineScanner({
      onPart: (part) => this.#readPart(part),
      onEnd: (rest) => {
        this.#readPart(rest);
        this.#endLine();
      },
    });
  }

  push(chunk: Uint8Array): void {
    this.#scanner.push(this.#marked < BYTE_ORDER_MARK.length ? this.#skipByteOrderMark(chunk) : chunk);
  }

  #skipByteOrderMark(chunk: Uint8Array): Uint8Array {
    let start = 0;
    while (start < chunk.length && chunk[start] === BYTE_ORDER_MARK[this.#marked]) {
      start++;
      this.#marked++;
    }
    if (start < chunk.length) this.#marked = BYTE_ORDER_MARK.length;
    return chunk.subarray(start);
  }

  #readPart(part: Uint8Array): void {
    if (this.#isData) return this.#readData(part);
    const before = this.#field.length;
    this.#field.add(part.subarray(0, MAX_FIELD_BYTES - before));
    if (before >= DATA.length || !startsWith(this.#field.view(), DATA)) return;
    const skipped = DATA.length - before;
    this.#field.take();
    this.#isData = true;
    // The data of several lines is joined by line ends (WHATWG HTML, section 9.2.6).
    if (this.#hasData) this.#handler.onData(LINE_BREAK);
    this.#hasData = true;
    this.#readData(part.subarray(skipped));
  }

  #readData(part: Uint8Array): void {
    if (part.length > 0) this.#handler.onData(part);
  }

  #endLine(): void {
    const wasData = this.#isData;
    this.#isData = false;
    if (wasData) return;
    const line = decoder.decode(this.#field.take());
    if (line !== "") {
      const [, name] = /^event: ?(.*)$/.exec(line) ?? [];
      this.#name = name ?? this.#name;
      return;
    }
    if (this.#hasData) this.#handler.onEvent(this.#name);
    this.#hasData = false;
    this.#name = undefined;
  }
}

function startsWith(bytes: Uint8Array, beginning: Uint8Array): boolean {
  return bytes.length >= beginning.length && beginning.every((byte, index) => bytes[index] === byte);
}
