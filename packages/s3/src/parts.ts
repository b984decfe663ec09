import { raced } from "./abort.js";

/** The size of a part. R2 needs parts of one size, and S3 parts of at least 5 MiB, except the last one. */
const PART_BYTES = 8 * 1024 * 1024;

const FIRST_BUFFER_BYTES = 64 * 1024;

/**
 * Reads an image in parts. There are at most two buffers, which the parts use in turn: one part can be sent while the next
 * one is read. For an image of unknown length the first buffer grows, so that a small image needs little memory.
 */
export class PartReader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #expectedBytes: number | undefined;
  /** The memory of the part that is read, or was read last. */
  #buffer: Uint8Array<ArrayBuffer>;
  /** The memory of the part before, which is used for the next one. */
  #otherBuffer: Uint8Array<ArrayBuffer> | undefined;
  #partsRead = 0;
  /** The rest of the last chunk, which is in the next part. */
  #rest: Uint8Array = new Uint8Array(0);
  #bytesRead = 0;
  #isDone = false;

  /** @param expectedBytes the number of bytes of the image, if it is known */
  constructor(body: AsyncIterable<Uint8Array>, expectedBytes: number | undefined) {
    this.#iterator = body[Symbol.asyncIterator]();
    this.#expectedBytes = expectedBytes;
    this.#buffer = new Uint8Array(Math.min(expectedBytes ?? FIRST_BUFFER_BYTES, PART_BYTES));
  }

  /** True if there are bytes after the parts that were read. */
  get hasMore(): boolean {
    return this.#rest.byteLength > 0;
  }

  /** The number of bytes of all parts that were read. */
  get bytesRead(): number {
    return this.#bytesRead;
  }

  /**
   * Reads the next part. All parts but the last one have {@link PART_BYTES} bytes. The call after the
   * next one overwrites the part.
   *
   * @throws Error if the image is not as long as expected, the error of the image, or the reason of the signal
   */
  async read(signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    if (this.#partsRead++ > 0) this.#swapBuffers();
    let length = 0;
    // Also reads what follows a full part, because an image of exactly one part needs no multipart upload.
    for (;;) {
      const count = Math.min(this.#rest.byteLength, PART_BYTES - length);
      this.#reserve(length + count);
      this.#buffer.set(this.#rest.subarray(0, count), length);
      this.#rest = this.#rest.subarray(count);
      length += count;
      if (this.#rest.byteLength > 0 || this.#isDone) break;
      await this.#readChunk(length, signal);
    }
    this.#bytesRead += length;
    if (this.#isDone) this.#assertLength(this.#bytesRead, true);
    return this.#buffer.subarray(0, length);
  }

  /** Tells the source that nothing more will be read. Does not wait for it: it may be waiting for its own provider. */
  close(): void {
    if (this.#isDone) return;
    this.#isDone = true;
    // The image is given up or its source has failed: a second error of the source changes nothing.
    void Promise.resolve(this.#iterator.return?.()).catch(() => undefined);
  }

  async #readChunk(length: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const next = await raced(this.#iterator.next(), signal);
    if (next.done === true) {
      this.#isDone = true;
      return;
    }
    this.#rest = next.value;
    this.#assertLength(this.#bytesRead + length + next.value.byteLength, false);
  }

  #assertLength(bytes: number, isComplete: boolean): void {
    const expected = this.#expectedBytes;
    if (expected === undefined || bytes === expected || (!isComplete && bytes < expected)) return;
    throw new Error(`The image has ${isComplete ? "" : "at least "}${bytes} bytes instead of ${expected}.`);
  }

  #swapBuffers(): void {
    const next = this.#otherBuffer ?? new Uint8Array(PART_BYTES);
    this.#otherBuffer = this.#buffer;
    this.#buffer = next;
  }

  #reserve(needed: number): void {
    if (needed <= this.#buffer.byteLength) return;
    const size = Math.min(PART_BYTES, Math.max(needed, 2 * this.#buffer.byteLength));
    // Frees the smaller memory at once. A copy would leave it to the garbage collector.
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(size));
  }
}
