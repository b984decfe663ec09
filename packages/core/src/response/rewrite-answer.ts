import type { AnswerShape } from "../answer-shape.js";
import { createChunkJoiner } from "./join-chunks.js";
import { type AnswerFacts, createFactReader } from "./read-facts.js";
import { createJsonScanner } from "./scan-json.js";
import type { JsonStatus } from "./walk-json.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const OPEN_BRACE = 0x7b;

/** How an answer is rewritten. */
export interface RewriteOptions {
  readonly shape: AnswerShape;
  /** The service model name, in place of the provider's. */
  readonly model: string;
  /** Seconds since 1970, where the provider gives no time. */
  readonly now: number;
  /** Every byte is passed on as it came, and only the facts are read. Default false. */
  readonly isNative?: boolean | undefined;
  /** A larger item is taken for an image, a larger value of a member is not read. Default 16 KiB. */
  readonly maxHeldBytes?: number | undefined;
}

/** Rewrites one answer as it comes. */
export interface AnswerRewriter {
  /** The bytes to send on: several chunks of one push may share the memory of the chunk that was pushed. */
  push(chunk: Uint8Array): readonly Uint8Array[];
  /**
   * The last bytes, without which the answer is cut. None for what must not look like an answer: it is not
   * complete, has no image or tells of a failure. None either where bytes are passed on as they came.
   */
  end(): readonly Uint8Array[];
  /** What the answer has said so far: the same object all along. */
  readonly facts: AnswerFacts;
  /** Whether the answer is complete, or no JSON object that can be read on. */
  readonly status: JsonStatus;
}

/**
 * Makes of a provider's answer that of `/v1`, as `renderImages` does of a whole one, and never holds more of
 * it than a short value. `model` gets the service name, items that failed leave their array for
 * `extra.errors`, the error of the whole answer is left out, `created` is added where no time is given. All
 * other values are the provider's, byte by byte; white space between them is dropped.
 */
export function createAnswerRewriter(options: RewriteOptions): AnswerRewriter {
  const { shape, isNative = false, maxHeldBytes } = options;
  const model = JSON.stringify(options.model);
  const now = String(options.now);
  const output = createChunkJoiner();
  const reader = createFactReader(shape);
  const { facts } = reader;
  const missing = new Map([
    [shape.model, model],
    [shape.created, now],
  ]);
  let member = "";
  let hasMembers = false;
  let isInItems = false;
  /** Whether the parts of a large value go on to the client; `undefined` before its first one. */
  let isPassing: boolean | undefined;

  const write = (bytes: Uint8Array | string): void => {
    if (!isNative) output.add(typeof bytes === "string" ? encoder.encode(bytes) : bytes);
  };

  const writeKey = (written: Uint8Array | string): void => {
    write(hasMembers ? "," : "{");
    write(written);
    write(":");
    hasMembers = true;
  };

  /** What stands in place of the present member's value, or `undefined` where the value itself does. */
  const replaceMember = (value: unknown): string | undefined => {
    reader.readMember(member, value);
    if (member === shape.failure) return "";
    if (member === shape.model) return model;
    return member === shape.created && shape.readCreated(value) === undefined ? now : undefined;
  };

  const writeImage = (bytes: Uint8Array): void => {
    if (facts.images > 1) write(",");
    write(bytes);
  };

  /** Of a value that is too large to be read it counts only whether it is an object. */
  const beginLarge = (bytes: Uint8Array): boolean => {
    if (isInItems) {
      reader.countImage();
      writeImage(bytes);
      return true;
    }
    const replacement = replaceMember(bytes[0] === OPEN_BRACE ? {} : undefined);
    write(replacement ?? bytes);
    return replacement === undefined;
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
        write("[");
      },
      onItemsEnd() {
        isInItems = false;
        write("]");
      },
      onValue(bytes) {
        const value = parse(bytes);
        if (!isInItems) write(replaceMember(value) ?? bytes);
        else if (reader.readItem(value)) writeImage(bytes);
      },
      onPart(bytes) {
        if (isPassing === undefined) isPassing = beginLarge(bytes);
        else if (isPassing) write(bytes);
      },
      onPartsEnd() {
        isPassing = undefined;
      },
    },
    { items: shape.items, maxHeldBytes },
  );

  /** A value that is no JSON breaks the answer. */
  function parse(bytes: Uint8Array): unknown {
    try {
      return JSON.parse(decoder.decode(bytes));
    } catch {
      scanner.giveUp();
      return undefined;
    }
  }

  return {
    facts,
    get status() {
      return scanner.status;
    },
    push(chunk) {
      scanner.push(chunk);
      return isNative ? [chunk] : output.take();
    },
    end() {
      if (scanner.status !== "complete" || facts.images === 0 || facts.failure !== undefined) return [];
      for (const [name, value] of missing) {
        writeKey(JSON.stringify(name));
        write(value);
      }
      if (facts.errors.length > 0) {
        // An `extra` of the provider's own stands before it, and the last one counts.
        writeKey('"extra"');
        write(JSON.stringify({ errors: facts.errors }));
      }
      write("}");
      return output.take();
    },
  };
}
