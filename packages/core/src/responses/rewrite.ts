import type { ResponseShape } from "../families/family.js";
import { readMadeImage } from "../families/shared.js";
import type { FailureReason, MadeImage, ResultError, ResultImage, Usage } from "../types.js";
import { createHeldBytes } from "../util/held-bytes.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import type { JsonStatus } from "../util/json-walker.js";
import { ImageObject } from "./image-object.js";
import type { ImagePart } from "./image-parts.js";
import { createJsonScanner } from "./json-scanner.js";
import { type ItemKind, type LargeItem, readLargeItem } from "./large-item.js";
import { MemberBytes, type OpenAiEvents, writeImage, writeMissingFormat } from "./openai-events.js";
import { withInputTokens } from "./openai-usage.js";
import { createJsonShortener, type JsonShortener } from "./shorten-json.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const OPEN_BRACE = 0x7b;

/** Options of {@link createResponseRewriter}. */
export interface RewriteOptions {
  readonly shape: ResponseShape;
  /** The service model name, which replaces the provider's. */
  readonly model: string;
  /** Seconds since 1970, used if the provider gives no time. */
  readonly now: number;
  /** True if every byte is passed on unchanged, and only the facts are read. Default false. */
  readonly isNative?: boolean | undefined;
  /** Writes the images as the events of OpenAI's images API, in place of JSON. Default: JSON. */
  readonly events?: OpenAiEvents | undefined;
  /** True if an image without base64 is returned as {@link LinkedImage}. Default false. */
  readonly convertsLinks?: boolean | undefined;
  /** True if every image is handed over as {@link ImagePart}, in place of its bytes. Default false. */
  readonly opensImages?: boolean | undefined;
  /**
   * In bytes. Values up to this size are parsed as a whole; in larger values, long strings are shortened. Default 16
   * KiB.
   */
  readonly maxHeldBytes?: number | undefined;
}

/** An image that the provider delivered as a link, in place of its converted form: of its JSON, or of the members of its event. */
export interface LinkedImage {
  readonly image: ResultImage;
  /** Its index in the provider's batch, from 0. */
  readonly index: number;
}

/** Rewrites one response as it arrives. */
export interface ResponseRewriter {
  /** Returns the bytes to send on. They may share the memory of the chunk. */
  push(chunk: Uint8Array): readonly (Uint8Array | LinkedImage | ImagePart)[];
  /** Adds to `extra.errors` that a link could not be converted. */
  addLinkError(error: ResultError): void;
  /**
   * Returns the last bytes, without which the response is incomplete. Returns none if the upstream response is not
   * complete or has no image, or if the bytes are passed on unchanged; in JSON also if it reports a failure.
   */
  end(): readonly Uint8Array[];
  /** What the response has said so far. Always the same object. */
  readonly facts: ResponseFacts;
  /** Whether the upstream response is complete, or is not a JSON object. */
  readonly status: () => JsonStatus;
}

/**
 * Converts a provider's response to the response of `/v1` while it arrives. `model` becomes the service name, failed items
 * move to `extra.errors`, the error of the whole response is left out, and `created` is added if it is missing. All
 * other values stay byte by byte; white space between them is dropped. Holds only short values, and of a large item at
 * most 256 KiB until it is known whether it is an image.
 *
 * So a response of any size takes about 2 MB of memory. The simple version is `WholeReader` in json-reader.ts,
 * which parses the whole response; the tests compare the two.
 */
export function createResponseRewriter(options: RewriteOptions): ResponseRewriter {
  const {
    shape,
    isNative = false,
    convertsLinks = false,
    opensImages = false,
    maxHeldBytes,
    events,
  } = options;
  const model = JSON.stringify(options.model);
  const now = String(options.now);
  const output = createChunkJoiner<LinkedImage | ImagePart>();
  const linkErrors: ResultError[] = [];
  const reader = createFactReader(shape);
  const { facts } = reader;
  const missing = new Map([
    [shape.model, model],
    [shape.created, now],
  ]);
  let createdAt: number | undefined;
  let member = "";
  let hasMembers = false;
  let isInItems = false;
  /** The reader of the current large value. */
  let large: LargeItem | undefined;

  const write = (bytes: Uint8Array | string): void => {
    if (!isNative) output.add(typeof bytes === "string" ? encoder.encode(bytes) : bytes);
  };

  /** Events have none of the members beside the images. */
  const writeMember = (bytes: Uint8Array | string): void => {
    if (events === undefined) write(bytes);
  };

  const writeKey = (written: Uint8Array | string): void => {
    writeMember(hasMembers ? "," : "{");
    writeMember(written);
    writeMember(":");
    hasMembers = true;
  };

  /** Returns what replaces the current member's value, or `undefined` if the value stays. */
  const replaceMember = (value: unknown): string | undefined => {
    reader.readMember(member, value);
    if (member === shape.created) createdAt = shape.readCreated(value);
    if (member === shape.failure) return "";
    if (member === shape.model) return model;
    return member === shape.created && shape.readCreated(value) === undefined ? now : undefined;
  };

  const findKind = (item: unknown): ItemKind => {
    if (!reader.isImage(item)) return "failed";
    return convertsLinks && isLink(item) ? "link" : "image";
  };

  const beginImage = (): void => {
    if (events !== undefined) write(events.beginImage(createdAt));
    else if (facts.images > 1) write(",");
  };

  /** It may be the last image. */
  const endImage = (): void => {
    if (events !== undefined) write(events.endImage(true));
  };

  /** The image was already counted. */
  const handOverLink = (image: ResultImage): void => {
    beginImage();
    output.addOther({ image, index: facts.images + facts.errors.length - 1 });
    endImage();
  };

  const beginLargeItem = (): LargeItem => {
    const members = new MemberBytes();
    return readLargeItem(
      {
        findKind,
        onImage() {
          reader.countImage();
          beginImage();
        },
        onBytes(bytes) {
          if (events === undefined) write(bytes);
          else members.push(bytes).forEach(write);
        },
        onImageEnd(item) {
          reader.readImage(item);
          if (events !== undefined) write(writeMissingFormat(item));
          endImage();
        },
        onLink(written) {
          const item = parse(written);
          if (reader.readItem(item) && isLink(item)) handOverLink(item);
        },
        onFailed: (item) => void reader.readItem(item),
        onUnreadable: () => scanner.giveUp(),
      },
      !isNative,
    );
  };

  /** The index of the image that was counted last. */
  const lastIndex = (): number => facts.images + facts.errors.length - 1;

  /** A large item whose image is handed over in parts. */
  const beginOpenItem = (): LargeItem => {
    const later: JsonObject = {};
    const object = new ImageObject({
      onBase64(members) {
        if (!reader.isImage({ ...members, b64_json: "A" })) return false;
        reader.countImage();
        output.addOther({ kind: "begin", members, createdAt });
        return true;
      },
      onBytes: (bytes) => output.addOther({ kind: "base64", bytes }),
      onMember(key, value) {
        later[key] = value;
      },
    });
    return {
      push: (bytes) => object.push(bytes),
      end() {
        const members = object.end();
        if (members === undefined) return scanner.giveUp();
        if (object.hasBegun) {
          reader.readImage(members);
          return output.addOther({ kind: "end", members, later, index: lastIndex() });
        }
        if (reader.readItem(members)) handOverImage(members);
      },
    };
  };

  const handOverImage = (image: ResultImage): void =>
    output.addOther({ kind: "image", image, index: lastIndex(), createdAt });

  /** A large member is passed on as it arrives, unless it is replaced, and is also read in a shortened form. */
  const beginLargeMember = (bytes: Uint8Array): LargeItem => {
    const replacement = replaceMember(bytes[0] === OPEN_BRACE ? {} : undefined);
    if (replacement !== undefined) writeMember(replacement);
    const shortener = [shape.failure, shape.usage].includes(member) ? createJsonShortener() : undefined;
    return {
      push(part) {
        shortener?.push(part);
        if (replacement === undefined) writeMember(part);
      },
      end: () => readShortened(shortener),
    };
  };

  const readShortened = (shortener: JsonShortener | undefined): void => {
    const value = shortener && parseText(shortener.read());
    if (value !== undefined) reader.readMember(member, value);
  };

  const scanner = createJsonScanner(
    {
      onMember(key, written) {
        member = key;
        missing.delete(key);
        if (key !== shape.failure) writeKey(written);
      },
      onItems() {
        isInItems = true;
        reader.readMember(member, []);
        writeMember("[");
      },
      onItemsEnd() {
        isInItems = false;
        writeMember("]");
      },
      onValue(bytes) {
        const value = parse(bytes);
        if (!isInItems) return writeMember(replaceMember(value) ?? addInputTokens(bytes, value));
        if (!reader.readItem(value)) return;
        if (opensImages && isJsonObject(value)) return handOverImage(value);
        if (convertsLinks && isLink(value)) return handOverLink(value);
        beginImage();
        write(events !== undefined && isJsonObject(value) ? writeImage(value) : bytes);
        endImage();
      },
      onPart(bytes) {
        large ??= isInItems ? (opensImages ? beginOpenItem() : beginLargeItem()) : beginLargeMember(bytes);
        large.push(bytes);
      },
      onPartsEnd() {
        large?.end();
        large = undefined;
      },
    },
    { items: shape.items, maxHeldBytes },
  );

  /** Gives the response up if the value is not JSON. */
  function parse(bytes: Uint8Array): unknown {
    const value = parseText(decoder.decode(bytes));
    if (value === undefined) scanner.giveUp();
    return value;
  }

  /** The last pieces have no links. */
  const takeBytes = (): readonly Uint8Array[] => output.take().filter((piece) => piece instanceof Uint8Array);

  /** `usage` has OpenAI's name for input tokens, too. Its own bytes stay. */
  const addInputTokens = (bytes: Uint8Array, usage: unknown): Uint8Array | string => {
    if (member !== shape.usage || !isJsonObject(usage)) return bytes;
    const { input_tokens: inputTokens } = withInputTokens(usage);
    if (inputTokens === usage["input_tokens"]) return bytes;
    const written = decoder.decode(bytes);
    return `${written.slice(0, written.lastIndexOf("}"))},"input_tokens":${String(inputTokens)}}`;
  };

  return {
    facts,
    status: scanner.status,
    push(chunk) {
      scanner.push(chunk);
      if (!isNative) return output.take();
      // The bytes of a native response are sent as they are. Its images are stored besides.
      return opensImages ? [chunk, ...output.take()] : [chunk];
    },
    addLinkError: (error) => void linkErrors.push(error),
    end() {
      if (scanner.status() !== "complete" || facts.images === 0) return [];
      if (events !== undefined) {
        write(events.end({ usage: facts.usage, errors: listErrors(facts, linkErrors) }));
        return takeBytes();
      }
      if (facts.failure !== undefined) return [];
      for (const [name, value] of missing) {
        writeKey(JSON.stringify(name));
        write(value);
      }
      const errors = [...facts.errors, ...linkErrors];
      if (errors.length > 0) {
        // An `extra` of the provider's own stands before it, and the last one counts.
        writeKey('"extra"');
        write(JSON.stringify({ errors }));
      }
      write("}");
      return takeBytes();
    },
  };
}

/** The entries of `extra.errors` in events: the failure of the whole response comes after those of images. */
export function listErrors(
  { images, errors, failure }: Pick<ResponseFacts, "images" | "errors" | "failure">,
  linkErrors: readonly ResultError[],
): readonly ResultError[] {
  const ofResponse = failure === undefined ? [] : [{ index: images + errors.length, ...failure }];
  return [...errors, ...linkErrors, ...ofResponse];
}

/** An image that the provider delivered as a link only. */
export function isLink(item: unknown): item is ResultImage & { readonly url: string } {
  return isJsonObject(item) && typeof item["url"] === "string" && !item["b64_json"];
}

/** `undefined` if the text is not JSON. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a response has said so far. */
export interface ResponseFacts {
  /** The number of images that have arrived or begun. */
  readonly images: number;
  /** What the response says about each image that has arrived. An image that has begun is not among them. */
  readonly made: readonly MadeImage[];
  /** Items that failed, each with its index in the provider's batch. */
  readonly errors: readonly ResultError[];
  /** The error of the whole response. */
  readonly failure: FailureReason | undefined;
  readonly usage: Usage | undefined;
  /** The provider's request id in the body. */
  readonly upstreamRequestId: string | undefined;
}

/** Collects the facts of a response from its members, one after another. */
interface FactReader {
  /** Always the same object. */
  readonly facts: ResponseFacts;
  /** Reads the value of a member. If a member occurs twice, the last one counts, as for `JSON.parse`. */
  readMember(name: string, value: unknown): void;
  /** Reads an item. Returns true if it is an image. */
  readItem(item: unknown): boolean;
  /** Whether an item is an image. Does not count it. */
  isImage(item: unknown): boolean;
  /** Counts an image that is too large to be read. */
  countImage(): void;
  /** Reads an image that was counted before, when it has ended. */
  readImage(item: unknown): void;
}

function createFactReader(shape: ResponseShape): FactReader {
  const errors: ResultError[] = [];
  const made: MadeImage[] = [];
  const facts: { -readonly [Key in keyof ResponseFacts]: ResponseFacts[Key] } = {
    images: 0,
    made,
    errors,
    failure: undefined,
    usage: undefined,
    upstreamRequestId: undefined,
  };

  const forgetItems = (): void => {
    facts.images = 0;
    errors.length = 0;
    made.length = 0;
  };

  const readImage = (item: unknown): void => void made.push(readMadeImage(item));

  return {
    facts,
    readMember(name, value) {
      if (name === shape.items) forgetItems();
      if (name === shape.failure) facts.failure = shape.readFailure(value);
      if (name === shape.usage) facts.usage = shape.readUsage(value);
      if (name === shape.requestId) facts.upstreamRequestId = toNonEmptyString(value);
    },
    readItem(item) {
      const read = shape.readItem(item, facts.images + errors.length);
      if (read !== "image") {
        errors.push(read);
        return false;
      }
      facts.images++;
      readImage(item);
      return true;
    },
    isImage: (item) => shape.readItem(item, 0) === "image",
    countImage() {
      facts.images++;
    },
    readImage,
  };
}

function toNonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Smaller pieces are joined, because a write of its own costs more than a copy. */
const COPIED_BYTES = 4 * 1024;

/** Joins pieces into chunks to send. `T` is the type of items between the bytes. */
interface ChunkJoiner<T> {
  add(piece: Uint8Array): void;
  /** Adds an item that is not bytes. */
  addOther(other: T): void;
  /** Returns the chunks of all pieces since the last call. Large pieces are not copied. */
  take(): readonly (Uint8Array | T)[];
}

function createChunkJoiner<T>(): ChunkJoiner<T> {
  const small = createHeldBytes();
  let chunks: (Uint8Array | T)[] = [];
  const endSmall = (): void => {
    if (small.length > 0) chunks.push(small.take());
  };
  return {
    add(piece) {
      if (piece.length < COPIED_BYTES) return small.add(piece);
      endSmall();
      chunks.push(piece);
    },
    addOther(other) {
      endSmall();
      chunks.push(other);
    },
    take() {
      endSmall();
      const taken = chunks;
      chunks = [];
      return taken;
    },
  };
}
