import { settlesWithin } from "../../util/async.js";

type StoredChunk = IteratorResult<Uint8Array, undefined>;

const DONE: StoredChunk = { done: true, value: undefined };
/** The longest time that a store may take for the next bytes. */
const READ_MS = 30_000;

/**
 * The bytes of a stored image on their way to a client. The body fails if the store does not continue in time, or returns
 * more or fewer bytes than it announced. It must be read to its end, or ended with `return()`.
 */
export class StoredBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #onFailure: (error: unknown) => void;
  #left: number;
  #first: Uint8Array | undefined;
  #isOver = false;

  private constructor(
    body: AsyncIterable<Uint8Array>,
    byteLength: number,
    onFailure: (error: unknown) => void,
  ) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#left = byteLength;
    this.#onFailure = onFailure;
  }

  /**
   * Reads the first bytes, so that a store that fails at once can get an error response.
   *
   * @param byteLength the number of bytes that the body must have
   * @param onFailure called once if the body fails later
   */
  static async open(
    body: AsyncIterable<Uint8Array>,
    byteLength: number,
    onFailure: (error: unknown) => void,
  ): Promise<StoredBody> {
    const opened = new StoredBody(body, byteLength, onFailure);
    const first = await opened.#read();
    if (first.done !== true) opened.#first = first.value;
    return opened;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<StoredChunk> {
    const first = this.#first;
    if (first !== undefined) {
      this.#first = undefined;
      return { done: false, value: first };
    }
    try {
      return await this.#read();
    } catch (error) {
      this.#onFailure(error);
      throw error;
    }
  }

  /** Does not wait for the store, which may be in the middle of a read. */
  async return(): Promise<StoredChunk> {
    this.#first = undefined;
    this.#end();
    return DONE;
  }

  async #read(): Promise<StoredChunk> {
    if (this.#isOver) return DONE;
    if (this.#left === 0) {
      this.#end();
      return DONE;
    }
    try {
      const reading = this.#chunks.next();
      if (!(await settlesWithin(reading, READ_MS))) {
        throw new Error(`The store of results returned nothing for ${READ_MS / 1000} s.`);
      }
      return this.#count(await reading);
    } catch (error) {
      // The client left during the read; the store may fail then.
      if (this.#isOver) return DONE;
      this.#end();
      throw error;
    }
  }

  #count({ done, value }: IteratorResult<Uint8Array, unknown>): StoredChunk {
    if (this.#isOver) return DONE;
    this.#left -= done === true ? 0 : value.length;
    if (this.#left < 0) throw new Error("The store of results returned more bytes than it announced.");
    if (done !== true) return { done: false, value };
    throw new Error("The store of results returned fewer bytes than it announced.");
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    stopReading(this.#chunks);
  }
}

/** Tells a store that no more bytes are read. Its failure to stop has no effect on a response. */
export function stopReading(chunks: AsyncIterator<Uint8Array>): void {
  void chunks.return?.().catch(() => undefined);
}
