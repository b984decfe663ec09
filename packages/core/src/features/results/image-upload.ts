import { detectMediaType } from "../../images/reference-image.js";
import { settlesWithin } from "../../util/async.js";
import { joinChunks } from "../../util/join-chunks.js";
import type { ImageToStore, StoredImage } from "./store.js";

/** The store failed or took too long. The client may see the message. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}

/** Where an image was stored. */
export interface StoredLink {
  readonly id: string;
  readonly url: string;
}

/** Where images are stored. */
export interface ImageStore {
  /** Stores an image. */
  put(image: Pick<ImageToStore, "contentType" | "body" | "byteLength" | "signal">): Promise<StoredLink>;
  /**
   * Opens an image that was stored. `undefined`: there is none. Rejects if the store fails or takes too long. Absent: the
   * store cannot read its images.
   */
  readonly open?: ((id: string) => Promise<StoredImage | undefined>) | undefined;
  /** Learns of each image that was stored whole. */
  readonly onStored: (id: string) => void;
  /** How long the store may let the response wait for one image, all in all. */
  readonly timeoutMs: number;
}

/** The number of bytes that tell the type of an image. */
const TYPE_BYTES = 16;

/** The media type of an image, by its first bytes. */
export function toContentType(bytes: Uint8Array): string {
  return detectMediaType(bytes) ?? "application/octet-stream";
}

/**
 * An image on its way into a store. The upload begins when the first bytes have told the type of the image. It holds one chunk
 * at a time: each write waits until the store has taken the chunk. A store that fails or takes too long fails the upload and
 * not the caller: further chunks are dropped.
 */
export class ImageUpload {
  readonly #store: ImageStore;
  readonly #byteLength: number | undefined;
  readonly #body = new Handover();
  readonly #stopper = new AbortController();
  /** What has arrived before the upload has begun. */
  #start = new Uint8Array();
  /** `undefined` before the upload has begun. */
  #stored: Promise<StoredLink> | undefined;
  #leftMs: number;
  #failure: StoreError | undefined;

  /** @param byteLength the number of bytes of the image, if it is known */
  constructor(store: ImageStore, byteLength?: number) {
    this.#store = store;
    this.#leftMs = store.timeoutMs;
    this.#byteLength = byteLength;
  }

  /** True if the store has failed or taken too long. */
  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  /** Resolves when the store has taken the chunk, or when the upload has failed. Does not reject. */
  async write(chunk: Uint8Array): Promise<void> {
    let next = chunk;
    if (this.#stored === undefined) {
      if (this.#start.length > 0) next = joinChunks([this.#start, chunk]);
      if (next.length < TYPE_BYTES) {
        // Copied, because the memory of the chunk may be used again.
        this.#start = new Uint8Array(next);
        return;
      }
      void this.#begin(next);
    }
    await this.#pass(next);
  }

  /**
   * Ends the image, and returns where it is when it is stored.
   *
   * @throws StoreError
   */
  async end(): Promise<StoredLink> {
    let stored = this.#stored;
    if (stored === undefined) {
      stored = this.#begin(this.#start);
      await this.#pass(this.#start);
    }
    this.#body.end();
    await this.#waitFor(stored);
    if (this.#failure !== undefined) throw this.#failure;
    const link = await stored;
    // The link of such an image would be dead.
    if (!this.#body.isTaken) throw new StoreError("The store did not read the whole image.");
    this.#store.onStored(link.id);
    return link;
  }

  /** The image is not complete, so the store must not keep it. */
  cancel(cause: unknown): void {
    this.#fail(new StoreError("The image is not complete.", { cause }));
  }

  /** @param start the first bytes of the image */
  #begin(start: Uint8Array): Promise<StoredLink> {
    const byteLength = this.#byteLength;
    const { signal } = this.#stopper;
    const image = { contentType: toContentType(start), byteLength, body: this.#body, signal };
    const stored = Promise.resolve()
      .then(() => this.#store.put(image))
      .finally(() => this.#body.release())
      .catch((cause: unknown) => {
        throw new StoreError("The image could not be stored.", { cause });
      });
    // The failure is reported at the end of the upload.
    stored.catch((error: StoreError) => {
      this.#failure ??= error;
    });
    this.#stored = stored;
    return stored;
  }

  async #pass(chunk: Uint8Array): Promise<void> {
    if (this.#failure !== undefined || chunk.length === 0) return;
    await this.#waitFor(this.#body.offer(chunk));
  }

  /** Waits for the time that the store may still take. */
  async #waitFor(work: Promise<unknown>): Promise<void> {
    const began = performance.now();
    const isInTime = await settlesWithin(work, this.#leftMs);
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - began));
    if (!isInTime) this.#fail(new StoreError("The store took too long."));
  }

  #fail(error: StoreError): void {
    this.#failure ??= error;
    this.#body.fail(error);
    this.#stopper.abort(error);
  }
}

type Chunk = IteratorResult<Uint8Array, undefined>;

const DONE: Chunk = { done: true, value: undefined };

/** Hands chunks over one by one. Several reads may be pending: each gets its own chunk. */
class Handover implements AsyncIterableIterator<Uint8Array, undefined> {
  /** False if a chunk was offered that the reader did not take. */
  isTaken = true;
  #offered: { readonly chunk: Uint8Array; readonly taken: () => void } | undefined;
  /** Called when the reader asks for the chunk after the one that it has. */
  #finished: (() => void) | undefined;
  readonly #readers: PromiseWithResolvers<Chunk>[] = [];
  #isOver = false;
  #error: Error | undefined;

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Resolves when the reader does not need the memory of the chunk any more. */
  offer(chunk: Uint8Array): Promise<void> {
    if (this.#isOver) {
      this.isTaken = false;
      return Promise.resolve();
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#offered = { chunk, taken: resolve };
    this.#handOver();
    return promise;
  }

  end(): void {
    this.#isOver = true;
    this.#handOver();
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.release();
  }

  /** The reader needs nothing more. */
  release(): void {
    this.#isOver = true;
    if (this.#offered !== undefined) this.isTaken = false;
    this.#offered?.taken();
    this.#offered = undefined;
    this.#finished?.();
    this.#finished = undefined;
    this.#handOver();
  }

  next(): Promise<Chunk> {
    this.#finished?.();
    this.#finished = undefined;
    const reader = Promise.withResolvers<Chunk>();
    // A store that stopped reading must not end the process.
    reader.promise.catch(() => undefined);
    this.#readers.push(reader);
    this.#handOver();
    return reader.promise;
  }

  return(): Promise<Chunk> {
    this.release();
    return Promise.resolve(DONE);
  }

  #handOver(): void {
    if (this.#readers.length === 0) return;
    if (this.#error !== undefined) {
      for (const reader of this.#readers.splice(0)) reader.reject(this.#error);
    } else if (this.#offered !== undefined) {
      const { chunk, taken } = this.#offered;
      this.#offered = undefined;
      const reader = this.#readers.shift();
      if (this.#readers.length === 0) {
        this.#finished = taken;
        reader?.resolve({ done: false, value: chunk });
      } else {
        // The next chunk was requested before this one was there.
        reader?.resolve({ done: false, value: chunk.slice() });
        taken();
      }
    } else if (this.#isOver) {
      for (const reader of this.#readers.splice(0)) reader.resolve(DONE);
    }
  }
}
