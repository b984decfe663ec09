import { type Awaitable, isPromiseLike, settlesWithin } from "../util/async.js";

/** How the upstream body of a relay ended. */
export type RelayEnding =
  /** It was read to its end. */
  | { readonly reason: "complete" }
  /** It broke off, or is not complete. */
  | { readonly reason: "failed"; readonly error: unknown }
  /** The client disconnected and the rest was given up. If the rest is read after a disconnect, the end is `complete` or `failed`. */
  | { readonly reason: "abandoned" };

/** A stream whose client has disconnected. */
export interface AbandonedStream {
  /** Reads the rest. `onEnd` is called as for any other stream. */
  readonly readToEnd: () => Promise<void>;
  /** Does not read the rest. `onEnd` is called with `abandoned`. */
  readonly giveUp: () => Promise<void>;
}

/** Chunks to send. An iterable is read when the client asks for more; if it fails, so does the source. */
export type Passed = readonly Uint8Array[] | AsyncIterable<Uint8Array>;

/** What a relay does with the body that it relays. */
export interface RelayParts {
  /** The chunks to send first. */
  readonly first?: Passed | undefined;
  /**
   * Returns what is sent for a chunk. Called for each chunk, also after the client has disconnected. The next chunk is
   * read when the promise, if any, has resolved, or the iterable, if any, has ended.
   */
  readonly pass: (chunk: Uint8Array) => Awaitable<Passed>;
  /**
   * Returns true when the result is complete. What follows is held back until `onEnd` has resolved, so that a client
   * gets the last byte only of a call that is settled. If the source does not end, it is held back for a second.
   */
  readonly isLast?: (() => boolean) | undefined;
  /** Returns what is sent after the last chunk, when `onEnd` has resolved. */
  readonly passEnd?: (() => readonly Uint8Array[]) | undefined;
  /** Called at the end of the source. Throws if the body is not complete; the relay then fails with that error. */
  readonly checkEnd?: (() => void) | undefined;
  /** Called once. The end is sent only after it has resolved. If it rejects, the client's read fails. */
  readonly onEnd?: ((end: RelayEnding) => Awaitable<void>) | undefined;
  /** Called when the client disconnects. It must call `readToEnd` or `giveUp`. Without it, the rest is given up. */
  readonly onAbandoned?: ((stream: AbandonedStream) => void) | undefined;
  /** Returns what is sent if the source fails. Without it, or if it returns `undefined`, the error is thrown. */
  readonly passFailure?: ((error: unknown) => Uint8Array | undefined) | undefined;
  /** Returns what is sent after `heartbeatMs` without data. */
  readonly beat?: (() => readonly Uint8Array[]) | undefined;
  readonly heartbeatMs?: number | undefined;
  /** Ends the source at once, also while a read is pending. */
  readonly cancel?: (() => void) | undefined;
}

/** A provider closes its response with the last event, or right after it. */
const MAX_HELD_BACK_MS = 1_000;

type Taken = IteratorResult<Uint8Array, undefined>;

const DONE: Taken = { done: true, value: undefined };
const RESOLVED = Promise.resolve();

/**
 * Passes on the chunks of a source when its reader asks for them, and reports the end once. If two reads are pending,
 * each gets its own chunk.
 *
 * The functions that run for each chunk are not `async`: one `async` function per chunk costs as much CPU as the rest of
 * the relay. The simple version would be an async generator.
 */
export class Relay implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #parts: Omit<RelayParts, "first">;
  /** What a heartbeat sends while a chunk is passed on: it must fit what was sent before that chunk. */
  #beat: readonly Uint8Array[] | undefined;
  /** Chunks that the reader can take. */
  #ready: Uint8Array[] = [];
  /** Chunks that are held back; `undefined` when nothing is held back any more. */
  #heldBack: Uint8Array[] | undefined = [];
  /** When they are sent at the latest, by `performance.now()`. */
  #heldBackUntil = 0;
  /** Chunks that are sent before the source is read again. */
  #inserted: AsyncIterator<Uint8Array> | undefined;
  /** The current read of the source. All readers wait for the same one. */
  #pending: Promise<void> | undefined;
  #end: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** What `onEnd` rejected with. */
  #refusal: { readonly error: unknown } | undefined;
  /** True when the source has ended or failed. */
  #isOver = false;
  #isAbandoned = false;

  constructor(source: AsyncIterable<Uint8Array>, { first = [], ...parts }: RelayParts) {
    this.#chunks = source[Symbol.asyncIterator]();
    // Without `first`, so that its memory can be freed while the rest is relayed.
    this.#parts = parts;
    this.#insert(first);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Taken> {
    return this.#wait().then(this.#take);
  }

  /** The client has disconnected. */
  async return(): Promise<Taken> {
    await this.#leave();
    return DONE;
  }

  readonly #take = (): Taken | Promise<Taken> => {
    if (this.#isAbandoned) return DONE;
    const value = this.#ready.shift();
    if (value !== undefined) return { done: false, value };
    if (this.#refusal !== undefined) return this.#refuse(this.#refusal.error);
    if (this.#failure !== undefined) return this.#fail(this.#failure.error);
    // Nothing was sent for the chunk that arrived, or another read took it.
    return this.#isOver ? DONE : this.next();
  };

  /** Resolves when there may be a chunk to take, or an end. */
  #wait(): Promise<void> {
    if (this.#isAbandoned || this.#isOver || this.#ready.length > 0) return RESOLVED;
    if (this.#heldBack !== undefined && this.#heldBack.length > 0) return this.#pullToEnd();
    const { heartbeatMs } = this.#parts;
    return heartbeatMs === undefined ? this.#pull() : this.#pullOrBeat(heartbeatMs);
  }

  /** Waits for the end of the source, and for `onEnd` without a time limit. */
  async #pullToEnd(): Promise<void> {
    const leftMs = this.#heldBackUntil - performance.now();
    if (leftMs <= 0 && this.#end === undefined) return this.#sendHeldBack();
    const pending = this.#pull();
    if ((await settlesWithin(pending, leftMs)) || this.#end !== undefined) return pending;
    this.#sendHeldBack();
  }

  async #pullOrBeat(heartbeatMs: number): Promise<void> {
    const pending = this.#pull();
    if (await settlesWithin(pending, heartbeatMs)) return pending;
    // Copied, because a host may free the memory of a chunk after the write.
    this.#ready.push(...(this.#beat?.map((chunk) => chunk.slice()) ?? this.#parts.beat?.() ?? []));
  }

  /** Reports the failure to one read. Later reads get the end. */
  #fail(error: unknown): Taken {
    this.#failure = undefined;
    const value = this.#parts.passFailure?.(error);
    if (value === undefined) throw error;
    return { done: false, value };
  }

  /** As {@link #fail}, without an event: the client must not have the end. */
  #refuse(error: unknown): never {
    this.#refusal = undefined;
    throw error;
  }

  async #leave(): Promise<void> {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    this.#ready = [];
    this.#heldBack = undefined;
    if (this.#end !== undefined) return;
    const stream = { readToEnd: () => this.#readToEnd(), giveUp: () => this.#giveUp() };
    if (this.#parts.onAbandoned === undefined) await stream.giveUp();
    else this.#parts.onAbandoned(stream);
  }

  /** Reads a chunk. At the end and at a failure, `onEnd` is called first. Does not reject: there may be no read that waits. */
  #pull(): Promise<void> {
    this.#pending ??= this.#read();
    return this.#pending;
  }

  #read(): Promise<void> {
    try {
      return this.#inserted === undefined
        ? this.#chunks.next().then(this.#receive, this.#failWith)
        : this.#inserted.next().then(this.#receiveInserted, this.#failWith);
    } catch (error) {
      return this.#failWith(error);
    }
  }

  readonly #receive = ({ done, value }: IteratorResult<Uint8Array, unknown>): void | Promise<void> => {
    try {
      if (done !== true) {
        const { heartbeatMs, beat } = this.#parts;
        if (heartbeatMs !== undefined) this.#beat = beat?.();
        const passed = this.#parts.pass(value);
        return isPromiseLike(passed)
          ? Promise.resolve(passed).then(this.#passOn).catch(this.#failWith)
          : this.#passOn(passed);
      }
      this.#parts.checkEnd?.();
    } catch (error) {
      return this.#failWith(error);
    }
    return this.#complete();
  };

  readonly #receiveInserted = ({ done, value }: IteratorResult<Uint8Array, unknown>): void => {
    if (done === true) this.#inserted = undefined;
    this.#passOn(done === true ? [] : [value]);
  };

  readonly #passOn = (passed: Passed): void => {
    this.#beat = undefined;
    this.#insert(passed);
    this.#pending = undefined;
  };

  readonly #failWith = async (error: unknown): Promise<void> => {
    this.#beat = undefined;
    void this.#stop();
    try {
      await this.#finish({ reason: "failed", error });
      this.#sendHeldBack();
      this.#failure = { error };
    } catch (refusal) {
      this.#refusal = { error: refusal };
    } finally {
      this.#isOver = true;
    }
  };

  async #complete(): Promise<void> {
    try {
      await this.#finish({ reason: "complete" });
      this.#sendHeldBack();
      this.#add(this.#parts.passEnd?.() ?? []);
    } catch (refusal) {
      this.#refusal = { error: refusal };
    } finally {
      this.#isOver = true;
    }
  }

  #insert(passed: Passed): void {
    if (Symbol.asyncIterator in passed) this.#inserted = passed[Symbol.asyncIterator]();
    else this.#add(passed);
  }

  #add(chunks: readonly Uint8Array[]): void {
    if (this.#isAbandoned) return;
    const queue = this.#parts.isLast?.() === true ? this.#heldBack : undefined;
    if (queue?.length === 0) this.#heldBackUntil = performance.now() + MAX_HELD_BACK_MS;
    (queue ?? this.#ready).push(...chunks);
  }

  #sendHeldBack(): void {
    this.#ready.push(...(this.#heldBack ?? []));
    this.#heldBack = undefined;
  }

  #finish(end: RelayEnding): Promise<void> {
    this.#end ??= this.#callOnEnd(end);
    return this.#end;
  }

  /** `onEnd` may refuse to let the client have the end. A client that has left does not get it anyway. */
  async #callOnEnd(end: RelayEnding): Promise<void> {
    try {
      await this.#parts.onEnd?.(end);
    } catch (error) {
      if (!this.#isAbandoned) throw error;
    }
  }

  /** Ends the source. Not awaited, because a generator ends only after its pending read. */
  async #stop(): Promise<void> {
    try {
      this.#parts.cancel?.();
      await Promise.all([this.#inserted?.return?.(), this.#chunks.return?.()]);
    } catch {
      // The source is not read any more, so its error has no effect.
    }
  }

  async #readToEnd(): Promise<void> {
    while (this.#end === undefined) await this.#pull();
    await this.#end;
  }

  async #giveUp(): Promise<void> {
    const ended = this.#finish({ reason: "abandoned" });
    void this.#stop();
    await ended;
  }
}

/** Reads the rest of streams whose clients have disconnected, because the provider bills the images anyway. */
export interface BackgroundReads {
  /** Reads a stream to its end, or gives it up if too many are being read or it takes too long. */
  start(stream: AbandonedStream): Promise<void>;
}

/** @param limits how many streams are read at a time, and for how long each */
export function createBackgroundReads(limits: {
  readonly streams: number;
  readonly ms: number;
}): BackgroundReads {
  let running = 0;
  return {
    async start({ readToEnd, giveUp }) {
      if (running >= limits.streams) return giveUp();
      running++;
      const { promise: givenUp, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(() => resolve(giveUp()), limits.ms);
      try {
        await Promise.race([readToEnd(), givenUp]);
      } finally {
        clearTimeout(timer);
        running--;
      }
    },
  };
}
