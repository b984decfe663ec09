import type { ResponseShape } from "../families/response-shape.js";
import type { ResultError, ResultImage } from "../types.js";
import { createHeldBytes } from "../util/held-bytes.js";
import { isJsonObject, type JsonObject, omitMembers, parseJson } from "../util/json.js";
import type { JsonStatus } from "../util/json-walker.js";
import { encodeText } from "../util/utf8.js";
import type { ArrivingBytes } from "./image-budget.js";
import { ImageObject } from "./image-object.js";
import type { ImagePart } from "./image-parts.js";
import { createJsonScanner } from "./json-scanner.js";
import { type ItemKind, type LargeItem, readLargeItem } from "./large-item.js";
import { withInputTokens } from "./openai-usage.js";
import { createFactReader, type ResponseFacts } from "./response-facts.js";
import { createJsonShortener, type JsonShortener } from "./shorten-json.js";

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
  /** True if an image without base64 is returned as {@link LinkedImage}. Default false. */
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

/** An image that the provider delivered as a link, in place of the JSON of its converted form. */
export interface LinkedImage {
  readonly image: ResultImage;
  /** Its index in the provider's batch, from 0. */
  readonly index: number;
  /** Its bytes, if its download has begun. */
  readonly arriving?: ArrivingBytes | undefined;
}

/** Rewrites one response as it arrives. */
export interface ResponseRewriter {
  /** Returns the bytes to send on. They may share the memory of the chunk. */
  push(chunk: Uint8Array): readonly (Uint8Array | LinkedImage | ImagePart)[];
  /** Adds to `extra.errors` that a link could not be converted. */
  addLinkError(error: ResultError): void;
  /**
   * Returns the last bytes, without which the response is incomplete. Returns none if the upstream response is not
   * complete, has no image or reports a failure, or if its bytes are passed on unchanged or are not wanted.
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
    onlyImages = false,
    opensImages = onlyImages || (!isNative && shape.leftOut !== undefined && shape.leftOut.length > 0),
    maxHeldBytes,
  } = options;
  const model = JSON.stringify(options.model);
  const now = String(options.now);
  const output = createChunkJoiner<LinkedImage | ImagePart>();
  const linkErrors: ResultError[] = [];
  const reader = createFactReader(shape, () => scanner.status() === "complete");
  const { facts } = reader;
  const missing = new Map([[shape.created, now]]);
  if (shape.addsModel !== false) missing.set(shape.model, model);
  let createdAt: number | undefined;
  let member = "";
  let hasMembers = false;
  let isInItems = false;
  /** The reader of the current large value. */
  let large: LargeItem | undefined;

  const isWritten = !isNative && !onlyImages;

  const write = (bytes: Uint8Array | string): void => {
    if (isWritten) output.add(typeof bytes === "string" ? encodeText(bytes) : bytes);
  };

  const writeKey = (written: Uint8Array | string): void => {
    write(hasMembers ? "," : "{");
    write(written);
    write(":");
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

  /** Every image but the first has a comma before it. */
  const beginImage = (): void => {
    if (facts.images > 1) write(",");
  };

  /** The index of the image that was counted last. */
  const lastIndex = (): number => facts.images + facts.errors.length - 1;

  /** The image was already counted. */
  const handOverLink = (image: ResultImage): void => {
    beginImage();
    output.addOther({ image, index: lastIndex() });
  };

  /** A large item whose bytes are passed on. */
  const beginLargeItem = (): LargeItem =>
    readLargeItem(
      {
        findKind,
        onImage() {
          reader.countImage();
          beginImage();
        },
        onBytes: write,
        onImageEnd: (item) => reader.readImage(item),
        onLink(written) {
          const item = parse(written);
          if (reader.readItem(item) && isLink(item)) handOverLink(item);
        },
        onFailed: (item) => void reader.readItem(item),
        onUnreadable: () => scanner.giveUp(),
      },
      !isNative,
    );

  /** A large item whose image is handed over in parts. */
  const beginOpenItem = (): LargeItem => {
    const later: JsonObject = {};
    const object = new ImageObject({
      onBase64(members) {
        if (!reader.isImage({ ...object.shortened, b64_json: "A" })) return false;
        reader.countImage();
        output.addOther({ kind: "begin", members: omitMembers(members, shape.leftOut), createdAt });
        return true;
      },
      onBytes: (bytes) => output.addOther({ kind: "base64", bytes }),
      onMember(key, value) {
        if (shape.leftOut?.includes(key) !== true) later[key] = value;
      },
    });
    return {
      push: (bytes) => object.push(bytes),
      end() {
        const members = object.end();
        if (members === undefined) return scanner.giveUp();
        if (object.hasBegun) {
          reader.readImage(members);
          output.addOther({
            kind: "end",
            members: omitMembers(members, shape.leftOut),
            later,
            index: lastIndex(),
          });
        } else if (reader.readItem(object.shortened)) handOver(members);
      },
    };
  };

  /** An image that was counted. */
  const handOver = (item: JsonObject): void => {
    output.addOther({
      kind: "image",
      image: omitMembers(item, shape.leftOut),
      index: lastIndex(),
      createdAt,
    });
  };

  /** A large member is passed on as it arrives, unless it is replaced, and is also read in a shortened form. */
  const beginLargeMember = (bytes: Uint8Array): LargeItem => {
    const replacement = replaceMember(bytes[0] === OPEN_BRACE ? {} : undefined);
    if (replacement !== undefined) write(replacement);
    const shortener = [shape.failure, shape.usage].includes(member) ? createJsonShortener() : undefined;
    return {
      push(part) {
        shortener?.push(part);
        if (replacement === undefined) write(part);
      },
      end: () => readShortened(shortener),
    };
  };

  const readShortened = (shortener: JsonShortener | undefined): void => {
    const value = shortener && parseJson(shortener.read());
    if (value !== undefined) reader.readMember(member, value);
  };

  const beginItem = opensImages ? beginOpenItem : beginLargeItem;
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
        write("[");
      },
      onItemsEnd() {
        isInItems = false;
        write("]");
      },
      onValue(bytes) {
        const value = parse(bytes);
        if (!isInItems) return write(replaceMember(value) ?? addInputTokens(bytes, value));
        if (!reader.readItem(value)) return;
        if (opensImages && isJsonObject(value)) return handOver(value);
        if (convertsLinks && isLink(value)) return handOverLink(value);
        beginImage();
        write(bytes);
      },
      onPart(bytes) {
        large ??= isInItems ? beginItem() : beginLargeMember(bytes);
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
    const value = parseJson(decoder.decode(bytes));
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
      const isUsable = !onlyImages && facts.images > 0 && facts.failure === undefined;
      if (scanner.status() !== "complete" || !isUsable) return [];
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

/** An image that the provider delivered as a link only. */
export function isLink(item: unknown): item is ResultImage & { readonly url: string } {
  return isJsonObject(item) && typeof item["url"] === "string" && !item["b64_json"];
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
