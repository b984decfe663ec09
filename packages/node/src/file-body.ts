import { type FileHandle, open } from "node:fs/promises";
import type { ByteRange } from "@calotype/core/stores";

type Chunk = IteratorResult<Uint8Array, undefined>;

const DONE: Chunk = { done: true, value: undefined };
const CHUNK_BYTES = 64 * 1024;

/** The bytes of a file, or a part of them. The file is opened at the first read, and closed at the end or by `return()`. */
export class FileBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #path: string;
  readonly #end: number;
  #position: number;
  #file: Promise<FileHandle> | undefined;
  #isOver = false;

  constructor(path: string, { first, last }: ByteRange) {
    this.#path = path;
    this.#position = first;
    this.#end = last + 1;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Chunk> {
    const size = Math.min(CHUNK_BYTES, this.#end - this.#position);
    if (this.#isOver || size <= 0) return this.return();
    try {
      const chunk = await this.#read(size);
      this.#position += chunk.length;
      return { done: false, value: chunk };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  /** Node closes the file when the read in progress has ended. */
  async return(): Promise<Chunk> {
    const file = this.#file;
    this.#isOver = true;
    this.#file = undefined;
    if (file === undefined) return DONE;
    // A file that could not be opened needs no close; the read reports it.
    const opened = await file.catch(() => undefined);
    await opened?.close();
    return DONE;
  }

  async #read(size: number): Promise<Uint8Array> {
    this.#file ??= open(this.#path, "r");
    const file = await this.#file;
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(size), 0, size, this.#position);
    if (bytesRead === 0) throw new Error(`${this.#path} became shorter while it was read.`);
    return buffer.subarray(0, bytesRead);
  }
}
