import type { GatewayResponse } from "../http.js";
import type { Logger } from "../logger.js";
import { type BodyKind, detectBody } from "../upstream/body-kind.js";
import { settlesWithin } from "../util/async.js";
import { toOneLine } from "../util/one-line.js";
import { HEARTBEAT } from "./sse.js";
import type { StreamClient } from "./stream-client.js";

/** What an {@link EarlyStream} needs beside the response. */
export interface EarlyStreamOptions {
  /** After this time without data a comment is sent. */
  readonly heartbeatMs: number;
  /** Learns that the client has disconnected. */
  readonly client: StreamClient;
  readonly logger: Logger;
}

type Chunk = IteratorResult<Uint8Array, undefined>;
type Chunks = AsyncIterator<Uint8Array, unknown>;

const DONE: Chunk = { done: true, value: undefined };
const encoder = new TextEncoder();

/**
 * The body of a stream that begins before its response is there. It sends a comment at once and after each silent
 * period. When the response is there, its events follow unchanged. An error becomes an `error` event. A JSON body becomes
 * one event whose data is that JSON on one line.
 *
 * If the client disconnects while there is no response, the response is ended when it is there, as a host would do.
 */
export class EarlyStream implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #heartbeatMs: number;
  readonly #logger: Logger;
  /** `undefined` when the response was there, so that nothing of the early phase is retained. */
  #early: EarlyPhase | undefined;
  /** The response, once its first chunk or its failure was passed on. */
  #chunks: Chunks | undefined;
  /** Reads that wait in order. Further reads wait behind them. */
  #waiting = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #hasBegun = false;
  #hasLeft = false;

  /** @param response must not reject */
  constructor(response: Promise<GatewayResponse>, { heartbeatMs, client, logger }: EarlyStreamOptions) {
    this.#heartbeatMs = heartbeatMs;
    this.#logger = logger;
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    this.#early = { chunks: response.then(openBody), client, left, leave };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Chunk> {
    if (this.#chunks !== undefined && this.#waiting === 0) return this.#pass(this.#chunks.next());
    this.#waiting++;
    const read = this.#turn.then(this.#read).finally(() => {
      this.#waiting--;
    });
    // The next read begins after this one, also if this one fails. Its own reader gets the failure.
    this.#turn = read.then(ignore, ignore);
    return read;
  }

  /** The client has disconnected. Does not wait for the response. */
  async return(): Promise<Chunk> {
    if (this.#hasLeft) return DONE;
    this.#hasLeft = true;
    await this.#chunks?.return?.();
    const early = this.#early;
    if (early === undefined) return DONE;
    early.client.leave();
    early.leave();
    early.chunks
      .then((chunks) => chunks.return?.())
      .catch((err: unknown) =>
        this.#logger.error({ err }, "The response of a client that disconnected could not be ended."),
      );
    return DONE;
  }

  readonly #read = async (): Promise<Chunk> => {
    if (this.#hasLeft) return DONE;
    const early = this.#early;
    if (early === undefined) return this.#chunks === undefined ? DONE : this.#pass(this.#chunks.next());
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return createComment();
    }
    early.first ??= early.chunks.then((chunks) => (this.#hasLeft ? DONE : this.#pass(chunks.next())));
    if (!(await settlesWithin(Promise.race([early.first, early.left]), this.#heartbeatMs))) {
      return createComment();
    }
    if (this.#hasLeft) return DONE;
    this.#chunks = await early.chunks;
    this.#early = undefined;
    return early.first;
  };

  #pass(read: Promise<IteratorResult<Uint8Array, unknown>>): Promise<Chunk> {
    return read.then(toChunk);
  }
}

/** What an {@link EarlyStream} holds until the response is there. */
interface EarlyPhase {
  readonly chunks: Promise<Chunks>;
  /** The first chunk of the response, once it was requested. */
  first?: Promise<Chunk>;
  readonly client: StreamClient;
  /** Resolves when the client has disconnected. */
  readonly left: Promise<void>;
  readonly leave: () => void;
}

function ignore(): void {}

function createComment(): Chunk {
  // New bytes each time, because a host may free them after the write.
  return { done: false, value: encoder.encode(HEARTBEAT) };
}

function toChunk({ done, value }: IteratorResult<Uint8Array, unknown>): Chunk {
  return done === true ? DONE : { done: false, value };
}

/** Opens the body of a response as events. */
function openBody({ status, headers, body }: GatewayResponse): Chunks {
  const isWhole = typeof body === "string" || body instanceof Uint8Array;
  const chunks = isWhole ? new WholeBody(body) : body[Symbol.asyncIterator]();
  if (status >= 400) return new OpenBody(chunks, { isJson: true, prefix: "event: error\ndata: " });
  const isJson = headers["content-type"]?.startsWith("text/event-stream") !== true;
  return new OpenBody(chunks, { isJson, prefix: "data: " });
}

/** How a body is converted to events. */
interface Conversion {
  /** False if the body is labelled as events. If its first bytes are JSON, it is converted as well. */
  readonly isJson: boolean;
  /** What comes before JSON: the fields of its event, up to the beginning of its data. */
  readonly prefix: string;
}

/** A body as events. */
class OpenBody implements Chunks {
  #chunks: Chunks;
  readonly #conversion: Conversion;
  #hasBegun = false;

  constructor(chunks: Chunks, conversion: Conversion) {
    this.#chunks = chunks;
    this.#conversion = conversion;
  }

  next(): Promise<IteratorResult<Uint8Array, unknown>> {
    return this.#hasBegun ? this.#chunks.next() : this.#readStart();
  }

  async return(): Promise<Chunk> {
    await this.#chunks.return?.();
    return DONE;
  }

  /** Holds the first bytes until they tell the kind of the body: at most about a kilobyte. */
  async #readStart(): Promise<IteratorResult<Uint8Array, unknown>> {
    const { isJson, prefix } = this.#conversion;
    const start: Uint8Array[] = [];
    let kind: BodyKind | undefined;
    while (kind === undefined) {
      const read = await this.#chunks.next();
      if (read.done === true) {
        if (start.length === 0 && !isJson) return read;
        break;
      }
      // A comment of the relay tells nothing about the body.
      if (start.length === 0 && isHeartbeat(read.value)) return read;
      start.push(read.value);
      kind = detectBody(start);
    }
    this.#hasBegun = true;
    const value = withoutMark(join(start));
    if (!isJson && kind !== "json") return { done: false, value };
    this.#chunks = new JsonData(this.#chunks);
    return { done: false, value: join([encoder.encode(prefix), toOneLine(value)]) };
  }
}

const HEARTBEAT_BYTES = encoder.encode(HEARTBEAT);

function isHeartbeat(chunk: Uint8Array): boolean {
  return (
    chunk.length === HEARTBEAT_BYTES.length && chunk.every((byte, index) => byte === HEARTBEAT_BYTES[index])
  );
}

/** Removes a byte order mark, which is allowed only at the beginning of a stream. */
function withoutMark(bytes: Uint8Array): Uint8Array {
  const [first, second, third] = bytes;
  return first === 0xef && second === 0xbb && third === 0xbf ? bytes.subarray(3) : bytes;
}

/** A body of one chunk. */
class WholeBody implements Chunks {
  #rest: Uint8Array | undefined;

  constructor(body: string | Uint8Array) {
    this.#rest = typeof body === "string" ? encoder.encode(body) : body;
  }

  next(): Promise<Chunk> {
    const value = this.#rest;
    this.#rest = undefined;
    return Promise.resolve(value === undefined ? DONE : { done: false, value });
  }
}

/** The rest of JSON that is the data of an event, on one line, and the end of the event. */
class JsonData implements Chunks {
  readonly #chunks: Chunks;
  #hasEnded = false;

  constructor(chunks: Chunks) {
    this.#chunks = chunks;
  }

  async next(): Promise<Chunk> {
    if (this.#hasEnded) return DONE;
    const { done, value } = await this.#chunks.next();
    if (done !== true) return { done: false, value: toOneLine(value) };
    this.#hasEnded = true;
    return { done: false, value: encoder.encode("\n\n") };
  }

  async return(): Promise<Chunk> {
    await this.#chunks.return?.();
    return DONE;
  }
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let length = 0;
  for (const chunk of chunks) {
    joined.set(chunk, length);
    length += chunk.length;
  }
  return joined;
}
