import type { ByteCount } from "../util/held-bytes.js";
import { joinChunks } from "../util/join-chunks.js";

/** The bytes of images that one response may hold before it begins. Several images may share it. */
export class ImageBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** True if an image did not fit. Then the response is sent while its images are downloaded. */
  get isExceeded(): boolean {
    return this.#left < 0;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
  }

  /** Spends the bytes if they fit. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }
}

/** An image that has arrived, or one that does not fit into the budget. */
export type ReadImage = Uint8Array<ArrayBuffer> | ArrivingBytes;

/**
 * Reads an image while it fits into the budget.
 *
 * @param count counts the bytes that are held
 */
export async function readWithinBudget(
  chunks: AsyncIterable<Uint8Array>,
  budget: ImageBudget,
  count: ByteCount,
): Promise<ReadImage> {
  const rest = chunks[Symbol.asyncIterator]();
  const held: Uint8Array[] = [];
  while (true) {
    const { done, value } = await rest.next();
    if (done === true) return joinChunks(held);
    count.addAnyway(value.length);
    budget.spend(value.length);
    held.push(value);
    if (budget.isExceeded) return new ArrivingBytes(held, rest, count);
  }
}

/** An image that has arrived in part, from its first byte on. Read it to its end, or close it. */
export class ArrivingBytes implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #held: Uint8Array[];
  readonly #rest: AsyncIterator<Uint8Array>;
  readonly #count: ByteCount;

  constructor(held: Uint8Array[], rest: AsyncIterator<Uint8Array>, count: ByteCount) {
    this.#held = held;
    this.#rest = rest;
    this.#count = count;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const value = this.#held.shift();
    if (value !== undefined) {
      this.#count.remove(value.length);
      return { done: false, value };
    }
    const next = await this.#rest.next();
    return next.done === true ? { done: true, value: undefined } : next;
  }

  /** Ends the download. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (const { length } of this.#held.splice(0)) this.#count.remove(length);
    await this.#rest.return?.();
    return { done: true, value: undefined };
  }
}
