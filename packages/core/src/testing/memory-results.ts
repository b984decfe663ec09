import type { ByteRange, ImageToStore, ResultStore, StoredImage } from "../features/results/store.js";

/** A secret for links of tests. */
export const LINK_SECRET = "a secret of at least 32 characters, for tests";

/** A store of results in memory that shows what was done with it. */
export class MemoryResults implements ResultStore {
  readonly images = new Map<string, { readonly contentType: string; readonly bytes: Uint8Array }>();
  /** The calls of `open`. */
  readonly opened: [string, ByteRange | undefined][] = [];
  /** The number of bodies that were neither read to their end nor stopped. */
  openBodies = 0;
  readonly swept: Date[] = [];
  readonly #chunkBytes: number;

  constructor({ chunkBytes = 1_000 }: { readonly chunkBytes?: number } = {}) {
    this.#chunkBytes = chunkBytes;
  }

  async put({ id, contentType, body }: ImageToStore): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    this.images.set(id, { contentType, bytes: Buffer.concat(chunks) });
  }

  async open(id: string, range?: ByteRange): Promise<StoredImage | undefined> {
    this.opened.push([id, range]);
    const image = this.images.get(id);
    if (image === undefined) return undefined;
    const { contentType, bytes } = image;
    const part = range === undefined ? bytes : bytes.subarray(range.first, range.last + 1);
    return { contentType, byteLength: bytes.length, body: this.#read(part) };
  }

  async sweep(before: Date): Promise<void> {
    this.swept.push(before);
  }

  async readSecrets(): Promise<readonly string[]> {
    return [LINK_SECRET];
  }

  #read(bytes: Uint8Array): AsyncIterable<Uint8Array> {
    this.openBodies++;
    let start = 0;
    let isOpen = true;
    const end = (): void => {
      if (isOpen) this.openBodies--;
      isOpen = false;
    };
    const size = this.#chunkBytes;
    return {
      [Symbol.asyncIterator]: () => ({
        async next() {
          const value = bytes.subarray(start, start + size);
          start += size;
          if (value.length > 0) return { done: false, value };
          end();
          return { done: true, value: undefined };
        },
        async return() {
          end();
          return { done: true, value: undefined };
        },
      }),
    };
  }
}
