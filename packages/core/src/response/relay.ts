import { settlesWithin } from "../settles-within.js";

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
  /** What goes on of a chunk. Called for each chunk, also where nobody takes what goes on any more. */
  readonly pass: (chunk: Uint8Array) => readonly Uint8Array[];
  /**
   * True when nothing of weight is still to come. What goes on from then on is kept back until `onEnd` has resolved, so
   * that a client sees the last byte of what is settled only; for a second, where the source does not end.
   */
  readonly isLast?: (() => boolean) | undefined;
  /** What goes on after the last chunk, once `onEnd` has resolved. */
  readonly passEnd?: (() => readonly Uint8Array[]) | undefined;
  /** Why a source that came to its end broke off all the same. */
  readonly findFlaw?: (() => Error | undefined) | undefined;
  /** Called once. The end goes on only after it has resolved. */
  readonly onEnd?: ((end: RelayEnding) => void | Promise<void>) | undefined;
  /** The reader left early. Without it the rest is given up. */
  readonly onAbandoned?: ((stream: AbandonedStream) => void) | undefined;
  /** Ends the source at once, also while a read is pending. */
  readonly cancel?: (() => void) | undefined;
}

/** A provider ends its answer with the last event, or right after it. */
const KEPT_BACK_MS = 1_000;

const DONE = { done: true, value: undefined } as const;

/** Takes chunks from a source as a client asks for them, and sees to it that its end is told once, whoever leaves. */
export class Relay {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #parts: Omit<RelayParts, "first">;
  /** What goes on and was not taken yet. */
  #ready: Uint8Array[] = [];
  /** What goes on once the end was told; `undefined` where nothing is kept back any more. */
  #kept: Uint8Array[] | undefined = [];
  #pending: Promise<void> | undefined;
  #end: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isAbandoned = false;

  constructor(source: AsyncIterable<Uint8Array>, { first = [], ...parts }: RelayParts) {
    this.#chunks = source[Symbol.asyncIterator]();
    // Without what goes on first: it is not to be held as long as the rest takes.
    this.#parts = parts;
    this.#add(first);
  }

  /** The next chunk that goes on. One call at a time. */
  async take(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#isAbandoned) return DONE;
      const value = this.#ready.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#failure !== undefined) return this.#fail(this.#failure.error);
      if (this.#end !== undefined && this.#pending === undefined) return DONE;
      await this.#wait();
    }
  }

  /** Until a chunk has come, or what is kept back has waited for the end for long enough. */
  async #wait(): Promise<void> {
    const isKeptBack = this.#kept !== undefined && this.#kept.length > 0;
    if (!isKeptBack && this.#pending === undefined) return this.#pull();
    this.#pending ??= this.#pull();
    if (isKeptBack && !(await settlesWithin(this.#pending, KEPT_BACK_MS))) return this.#release();
    await this.#pending;
    this.#pending = undefined;
  }

  /** Once; whoever asks again is told of the end. */
  #fail(error: unknown): never {
    this.#failure = undefined;
    throw error;
  }

  /** The client takes no more. */
  async leave(): Promise<void> {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    this.#ready = [];
    this.#kept = undefined;
    if (this.#end !== undefined) return;
    const stream = { readToEnd: () => this.#readToEnd(), giveUp: () => this.#giveUp() };
    if (this.#parts.onAbandoned === undefined) await stream.giveUp();
    else this.#parts.onAbandoned(stream);
  }

  /** Reads a chunk; at the end and at a failure `onEnd` is told first. Never rejects. */
  async #pull(): Promise<void> {
    try {
      const { done, value } = await this.#chunks.next();
      if (done !== true) return this.#add(this.#parts.pass(value));
      const flaw = this.#parts.findFlaw?.();
      if (flaw !== undefined) throw flaw;
    } catch (error) {
      void this.#stop();
      await this.#finish({ reason: "failed", error });
      this.#release();
      this.#failure = { error };
      return;
    }
    await this.#finish({ reason: "complete" });
    this.#release();
    this.#add(this.#parts.passEnd?.() ?? []);
  }

  #add(chunks: readonly Uint8Array[]): void {
    if (this.#isAbandoned) return;
    const queue = this.#parts.isLast?.() === true ? this.#kept : undefined;
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

/** What takes and leaves as an iterator: one after another, as a generator does it, so that of two that ask at once each gets its own. */
export function toIterator(
  take: () => Promise<IteratorResult<Uint8Array, undefined>>,
  leave: () => Promise<void>,
): AsyncIterableIterator<Uint8Array, undefined> {
  let latest: Promise<unknown> | undefined;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      const result = latest === undefined ? take() : latest.then(take, take);
      const forget = (): void => {
        if (latest === result) latest = undefined;
      };
      latest = result;
      result.then(forget, forget);
      return result;
    },
    async return() {
      await leave();
      return DONE;
    },
  };
}
