import { type Awaitable, isPromiseLike, MAX_TIMER_MS } from "../util/async.js";
import { type ChunkFlow, ChunkReader, type ChunkSink, openFlow } from "../util/chunk-flow.js";

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

/** One chunk to send, or several. An iterable is read when the client asks for more; if it fails, so does the source. */
export type Passed = Uint8Array | readonly Uint8Array[] | AsyncIterable<Uint8Array>;

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

/**
 * Passes on the chunks of a source when its reader asks for them, and reports the end once. The simple version would be an
 * async generator.
 */
export class Relay extends ChunkReader {
  constructor(source: AsyncIterable<Uint8Array>, parts: RelayParts) {
    const { first } = parts;
    // Without `first`, so that its memory can be freed while the rest is relayed.
    const others = first === undefined ? parts : { ...parts, first: undefined };
    super(new RelayFlow(openFlow(source), others, first ?? []));
  }
}

/** The chunks of a {@link Relay}. Each passes from the source to the reader without a promise if `pass` returns none. */
class RelayFlow implements ChunkFlow, ChunkSink {
  readonly #source: ChunkFlow;
  readonly #parts: Omit<RelayParts, "first">;
  /** The reader, while it waits for a chunk. */
  #sink: ChunkSink | undefined;
  /** What a heartbeat sends while a chunk is passed on: it must fit what was sent before that chunk. */
  #beat: readonly Uint8Array[] | undefined;
  #beatTimer: ReturnType<typeof setTimeout> | undefined;
  /** Chunks that the reader can take. */
  #ready: Uint8Array[] = [];
  /** Chunks that are held back; `undefined` when nothing is held back any more. */
  #heldBack: Uint8Array[] | undefined = [];
  #heldBackTimer: ReturnType<typeof setTimeout> | undefined;
  /** Chunks that are sent before the source is read again. */
  #inserted: AsyncIterator<Uint8Array> | undefined;
  /** True while the source was asked for a chunk, or while a chunk is passed on. */
  #isReading = false;
  /** Set if the rest is read without a reader. */
  #rest: PromiseWithResolvers<void> | undefined;
  #end: Promise<void> | undefined;
  /** Why there is no more. If `onEnd` refused to let the client have the end, no event shows it. */
  #failure: { readonly error: unknown; readonly isRefusal: boolean } | undefined;
  /** True when nothing of the source is passed on any more. */
  #isStopped = false;
  /** True when the source has ended or failed, and `onEnd` has resolved. */
  #isOver = false;
  #isAbandoned = false;

  constructor(source: ChunkFlow, parts: Omit<RelayParts, "first">, first: Passed) {
    this.#source = source;
    this.#parts = parts;
    this.#insert(first);
  }

  flow(sink: ChunkSink): void {
    if (this.#isAbandoned) return sink.end();
    this.#sink = sink;
    this.#waitForBeat();
    this.#advance();
  }

  /** The client has disconnected. */
  async leave(): Promise<void> {
    if (this.#isAbandoned) return;
    this.#isAbandoned = true;
    this.#ready = [];
    this.#heldBack = undefined;
    this.#stopSending();
    clearTimeout(this.#heldBackTimer);
    if (this.#end !== undefined) return;
    const stream = { readToEnd: () => this.#readToEnd(), giveUp: () => this.#giveUp() };
    if (this.#parts.onAbandoned === undefined) await stream.giveUp();
    else this.#parts.onAbandoned(stream);
  }

  /** Takes a chunk of the source. */
  chunk(chunk: Uint8Array): boolean {
    if (this.#isStopped) return false;
    try {
      if (this.#parts.heartbeatMs !== undefined) this.#beat = this.#parts.beat?.();
      const passed = this.#parts.pass(chunk);
      if (passed instanceof Uint8Array) return this.#passOne(passed);
      if (!isPromiseLike(passed)) return this.#passOn(passed);
      Promise.resolve(passed)
        .then((later) => this.#passLater(later))
        .catch((error: unknown) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
    return false;
  }

  end(): void {
    if (this.#isStopped) return;
    try {
      this.#parts.checkEnd?.();
    } catch (error) {
      return this.fail(error);
    }
    this.#isStopped = true;
    void this.#finish({ reason: "complete" });
  }

  fail(error: unknown): void {
    if (this.#isStopped) return;
    this.#beat = undefined;
    void this.#stop();
    void this.#finish({ reason: "failed", error });
  }

  /** Sends what there is, and reads the source if the reader waits for more. */
  #advance(): void {
    this.#send();
    if (this.#sink !== undefined && this.#isOver) this.#sendEnd(this.#sink);
    if (this.#isReading || !this.#isWanted) return;
    this.#isReading = true;
    if (this.#inserted === undefined) this.#source.flow(this);
    else void this.#readInserted(this.#inserted);
  }

  get #isWanted(): boolean {
    return !this.#isStopped && (this.#sink !== undefined || this.#rest !== undefined);
  }

  /** Gives the reader what is ready while it wants more. */
  #send(): void {
    while (this.#sink !== undefined) {
      const chunk = this.#ready.shift();
      if (chunk === undefined) return;
      if (this.#sink.chunk(chunk)) this.#waitForBeat();
      else this.#stopSending();
    }
  }

  #stopSending(): void {
    this.#sink = undefined;
    clearTimeout(this.#beatTimer);
  }

  /** Reports the failure to one read. Later reads get the end. */
  #sendEnd(sink: ChunkSink): void {
    const failure = this.#failure;
    this.#stopSending();
    this.#failure = undefined;
    if (failure === undefined) return sink.end();
    try {
      const event = failure.isRefusal ? undefined : this.#parts.passFailure?.(failure.error);
      if (event === undefined) sink.fail(failure.error);
      else if (sink.chunk(event)) sink.end();
    } catch (error) {
      sink.fail(error);
    }
  }

  /** Returns true if the source may give more at once. */
  #passOn(passed: Passed): boolean {
    this.#beat = undefined;
    this.#insert(passed);
    this.#send();
    this.#isReading = this.#inserted === undefined && this.#isWanted;
    if (!this.#isReading) this.#advance();
    return this.#isReading && this.#inserted === undefined;
  }

  /** As {@link #passOn}. Nearly all chunks go to the reader at once. */
  #passOne(chunk: Uint8Array): boolean {
    this.#beat = undefined;
    if (this.#sink === undefined || this.#ready.length > 0 || this.#holdsBack) return this.#passOn([chunk]);
    if (this.#sink.chunk(chunk)) this.#waitForBeat();
    else this.#stopSending();
    this.#isReading = this.#isWanted;
    if (!this.#isReading) this.#advance();
    return this.#isReading;
  }

  #passLater(passed: Passed): void {
    if (this.#isStopped || !this.#passOn(passed)) return;
    this.#isReading = false;
    this.#advance();
  }

  async #readInserted(inserted: AsyncIterator<Uint8Array>): Promise<void> {
    try {
      const { done, value } = await inserted.next();
      if (done === true) this.#inserted = undefined;
      this.#passLater(done === true ? [] : [value]);
    } catch (error) {
      this.fail(error);
    }
  }

  /** The call is settled before the reader gets the end. Does not reject: there may be no read that waits. */
  #finish(end: RelayEnding): Promise<void> {
    this.#end ??= this.#settle(end);
    this.#rest?.resolve(this.#end);
    return this.#end;
  }

  async #settle(end: RelayEnding): Promise<void> {
    try {
      await this.#parts.onEnd?.(end);
      this.#sendHeldBack();
      if (end.reason === "complete") this.#add(this.#parts.passEnd?.() ?? []);
      if (end.reason === "failed") this.#failure = { error: end.error, isRefusal: false };
    } catch (error) {
      this.#failure = { error, isRefusal: true };
    }
    this.#isOver = true;
    clearTimeout(this.#heldBackTimer);
    this.#advance();
  }

  #insert(passed: Passed): void {
    if (passed instanceof Uint8Array) this.#add([passed]);
    else if (Symbol.asyncIterator in passed) this.#inserted = passed[Symbol.asyncIterator]();
    else this.#add(passed);
  }

  /** True if chunks are held back from now on. */
  get #holdsBack(): boolean {
    return this.#heldBack !== undefined && this.#parts.isLast?.() === true;
  }

  #add(chunks: readonly Uint8Array[]): void {
    if (this.#isAbandoned) return;
    if (this.#heldBack === undefined || !this.#holdsBack) {
      this.#ready.push(...chunks);
      return;
    }
    this.#heldBack.push(...chunks);
    if (chunks.length > 0) {
      this.#heldBackTimer ??= setTimeout(() => this.#waitNoLonger(), MAX_HELD_BACK_MS);
    }
  }

  /** The source did not end in time. `onEnd` may take longer. */
  #waitNoLonger(): void {
    if (this.#end !== undefined) return;
    this.#sendHeldBack();
    this.#advance();
  }

  #sendHeldBack(): void {
    this.#ready.push(...(this.#heldBack ?? []));
    this.#heldBack = undefined;
  }

  #waitForBeat(): void {
    const { heartbeatMs } = this.#parts;
    if (heartbeatMs === undefined) return;
    clearTimeout(this.#beatTimer);
    if (heartbeatMs <= MAX_TIMER_MS) this.#beatTimer = setTimeout(() => this.#sendBeat(), heartbeatMs);
  }

  #sendBeat(): void {
    this.#waitForBeat();
    if (this.#heldBack !== undefined && this.#heldBack.length > 0) return;
    // Copied, because a host may free the memory of a chunk after the write.
    this.#ready.push(...(this.#beat?.map((chunk) => chunk.slice()) ?? this.#parts.beat?.() ?? []));
    this.#send();
  }

  /** Ends the source. Not awaited, because a generator ends only after its pending read. */
  async #stop(): Promise<void> {
    this.#isStopped = true;
    try {
      this.#parts.cancel?.();
      await Promise.all([this.#inserted?.return?.(), this.#source.leave()]);
    } catch {
      // The source is not read any more, so its error has no effect.
    }
  }

  async #readToEnd(): Promise<void> {
    if (this.#end !== undefined) return this.#end;
    this.#rest = Promise.withResolvers();
    this.#advance();
    return this.#rest.promise;
  }

  #giveUp(): Promise<void> {
    const ended = this.#finish({ reason: "abandoned" });
    void this.#stop();
    return ended;
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
