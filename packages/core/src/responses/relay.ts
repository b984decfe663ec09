import { type Awaitable, isPromiseLike } from "../util/promise-like.js";
import { settlesWithin } from "../util/timers.js";

/** How the source of a relay ended. */
export type RelayEnding =
  /** It came to its end. */
  | { readonly reason: "complete" }
  /** It broke off; the error is the source's. */
  | { readonly reason: "failed"; readonly error: unknown }
  /** It was given up before its end. */
  | { readonly reason: "abandoned" };

/** A stream whose client left, for whoever decides whether the rest is worth reading. */
export interface AbandonedStream {
  /** Reads the rest to its end, for what it says. */
  readonly readToEnd: () => Promise<void>;
  /** Reads no further: `onEnd` is called with `abandoned`. */
  readonly giveUp: () => Promise<void>;
}

/** What passes through a relay, and who is told of its end. */
export interface RelayParts {
  /** What goes on before the first chunk. */
  readonly first?: readonly Uint8Array[] | undefined;
  /**
   * What goes on of a chunk. Called for each chunk, also where nobody takes what goes on any more. The next chunk is
   * read after a promise has resolved.
   */
  readonly pass: (chunk: Uint8Array) => Awaitable<readonly Uint8Array[]>;
  /**
   * True when nothing of weight is still to come. What goes on from then on is kept back until `onEnd` has resolved, so
   * that a client sees the last byte of what is settled only; for a second, where the source does not end, be it silent
   * or not.
   */
  readonly isLast?: (() => boolean) | undefined;
  /** What goes on after the last chunk, once `onEnd` has resolved. */
  readonly passEnd?: (() => readonly Uint8Array[]) | undefined;
  /** Called at the end of the source. Throws if the body is not complete; the relay then fails with that error. */
  readonly checkEnd?: (() => void) | undefined;
  /** Called once. The end goes on only after it has resolved. */
  readonly onEnd?: ((end: RelayEnding) => Awaitable<void>) | undefined;
  /** The reader left early. Without it the rest is given up. */
  readonly onAbandoned?: ((stream: AbandonedStream) => void) | undefined;
  /** What goes on in place of the failure of the source. Without it, or without an answer, the failure is thrown. */
  readonly passFailure?: ((error: unknown) => Uint8Array | undefined) | undefined;
  /** What goes on after every `heartbeatMs` in which nothing else did, if anything may. */
  readonly beat?: (() => readonly Uint8Array[]) | undefined;
  readonly heartbeatMs?: number | undefined;
  /** Ends the source at once, also while a read is pending. */
  readonly cancel?: (() => void) | undefined;
}

/** A provider ends its answer with the last event, or right after it. */
const KEPT_BACK_MS = 1_000;

type Taken = IteratorResult<Uint8Array, undefined>;

const DONE: Taken = { done: true, value: undefined };
const NOTHING_TO_WAIT_FOR = Promise.resolve();

/**
 * The chunks of a source as a client asks for them, whose end is told once, whoever leaves. Of two that ask at once
 * each gets its own chunk. What runs for each chunk is not asynchronous: a function that is costs as much as the rest.
 */
export class Relay implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #parts: Omit<RelayParts, "first">;
  /** What goes on and was not taken yet. */
  #ready: Uint8Array[] = [];
  /** What goes on once the end was told; `undefined` where nothing is kept back any more. */
  #kept: Uint8Array[] | undefined = [];
  /** When that goes on all the same, by `performance.now()`. */
  #keptUntil = 0;
  /** The read that is under way: all wait for the same. */
  #pending: Promise<void> | undefined;
  #end: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  /** Nothing is read any more. */
  #isOver = false;
  #isAbandoned = false;

  constructor(source: AsyncIterable<Uint8Array>, { first = [], ...parts }: RelayParts) {
    this.#chunks = source[Symbol.asyncIterator]();
    // Without what goes on first: it is not to be held as long as the rest takes.
    this.#parts = parts;
    this.#add(first);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Taken> {
    return this.#wait().then(this.#take);
  }

  /** The client takes no more. */
  async return(): Promise<Taken> {
    await this.#leave();
    return DONE;
  }

  readonly #take = (): Taken | Promise<Taken> => {
    if (this.#isAbandoned) return DONE;
    const value = this.#ready.shift();
    if (value !== undefined) return { done: false, value };
    if (this.#failure !== undefined) return this.#fail(this.#failure.error);
    // Of what came nothing went on, or another one took it.
    return this.#isOver ? DONE : this.next();
  };

  /** Until there is something to take, or to tell. */
  #wait(): Promise<void> {
    if (this.#isAbandoned || this.#isOver || this.#ready.length > 0) return NOTHING_TO_WAIT_FOR;
    if (this.#kept !== undefined && this.#kept.length > 0) return this.#pullToEnd();
    const { heartbeatMs } = this.#parts;
    return heartbeatMs === undefined ? this.#pull() : this.#pullOrBeat(heartbeatMs);
  }

  /** For the end of the source, and for `onEnd` however long that takes. */
  async #pullToEnd(): Promise<void> {
    const leftMs = this.#keptUntil - performance.now();
    if (leftMs <= 0 && this.#end === undefined) return this.#release();
    const pending = this.#pull();
    if ((await settlesWithin(pending, leftMs)) || this.#end !== undefined) return pending;
    this.#release();
  }

  async #pullOrBeat(heartbeatMs: number): Promise<void> {
    const pending = this.#pull();
    if (await settlesWithin(pending, heartbeatMs)) return pending;
    this.#ready.push(...(this.#parts.beat?.() ?? []));
  }

  /** Once; whoever asks again is told of the end. */
  #fail(error: unknown): Taken {
    this.#failure = undefined;
    const value = this.#parts.passFailure?.(error);
    if (value === undefined) throw error;
    return { done: false, value };
  }

  async #leave(): Promise<void> {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    this.#ready = [];
    this.#kept = undefined;
    if (this.#end !== undefined) return;
    const stream = { readToEnd: () => this.#readToEnd(), giveUp: () => this.#giveUp() };
    if (this.#parts.onAbandoned === undefined) await stream.giveUp();
    else this.#parts.onAbandoned(stream);
  }

  /** Reads a chunk; at the end and at a failure `onEnd` is told first. Rejects only where that does. */
  #pull(): Promise<void> {
    this.#pending ??= this.#read();
    return this.#pending;
  }

  #read(): Promise<void> {
    try {
      return this.#chunks.next().then(this.#receive, this.#breakOff);
    } catch (error) {
      return this.#breakOff(error);
    }
  }

  readonly #receive = ({ done, value }: IteratorResult<Uint8Array, unknown>): void | Promise<void> => {
    try {
      if (done !== true) {
        const passed = this.#parts.pass(value);
        return isPromiseLike(passed)
          ? Promise.resolve(passed).then(this.#goOn).catch(this.#breakOff)
          : this.#goOn(passed);
      }
      this.#parts.checkEnd?.();
    } catch (error) {
      return this.#breakOff(error);
    }
    return this.#complete();
  };

  readonly #goOn = (chunks: readonly Uint8Array[]): void => {
    this.#add(chunks);
    this.#pending = undefined;
  };

  readonly #breakOff = async (error: unknown): Promise<void> => {
    void this.#stop();
    try {
      await this.#finish({ reason: "failed", error });
      this.#release();
      this.#failure = { error };
    } finally {
      this.#isOver = true;
    }
  };

  async #complete(): Promise<void> {
    try {
      await this.#finish({ reason: "complete" });
      this.#release();
      this.#add(this.#parts.passEnd?.() ?? []);
    } finally {
      this.#isOver = true;
    }
  }

  #add(chunks: readonly Uint8Array[]): void {
    if (this.#isAbandoned) return;
    const queue = this.#parts.isLast?.() === true ? this.#kept : undefined;
    if (queue?.length === 0) this.#keptUntil = performance.now() + KEPT_BACK_MS;
    (queue ?? this.#ready).push(...chunks);
  }

  #release(): void {
    this.#ready.push(...(this.#kept ?? []));
    this.#kept = undefined;
  }

  #finish(end: RelayEnding): Promise<void> {
    this.#end ??= this.#tellEnd(end);
    return this.#end;
  }

  async #tellEnd(end: RelayEnding): Promise<void> {
    await this.#parts.onEnd?.(end);
  }

  /** Ends the source. Nobody waits for it: a generator ends only after its pending read. */
  async #stop(): Promise<void> {
    try {
      this.#parts.cancel?.();
      await this.#chunks.return?.();
    } catch {
      // It is given up; how it failed is of no use to anyone.
    }
  }

  /** `onEnd` is told how it went; nobody else reads the stream any more. */
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

/** Reads the rest of streams whose clients left, within bounds: the provider bills it either way. */
export interface BackgroundReads {
  /** Starts to read a stream to its end. Past the bounds it is given up instead. */
  start(stream: AbandonedStream): Promise<void>;
}

/** @param limits at most so many streams at once, each for at most so long */
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
