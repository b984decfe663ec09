import { BLOCK_BYTES, type Block } from "./block-pool.js";
import { setLender } from "./lend-chunks.js";
import type { ImageBytes } from "./reference-image.js";

/** An uploaded file that is stored until its request is over, in memory or in the request's temporary file. */
export interface SpooledFile extends ImageBytes {
  /** The first bytes, enough to detect the file type. */
  readonly head: Uint8Array;
}

/** Stores one file while it arrives. */
export interface SpoolWriter {
  /**
   * Stores a chunk. If the result is a promise, the next chunk must wait for it.
   * @throws GatewayError by the promise: `overloaded` if the disk is full
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** Ends the file. Waits until all of it is stored. */
  end(): Promise<SpooledFile>;
}

/** A writer for the spool that owns it. */
export interface OwnedWriter extends SpoolWriter {
  /** Returns the blocks that no reader uses. Called once, when the request is over. */
  release(): void;
}

/** A part of a temporary file. */
interface FileRange {
  readonly position: number;
  readonly length: number;
}

/** What the files of one request share. */
export interface SpoolContext {
  readonly takeBlock: () => Block;
  readonly returnBlock: (block: Block) => void;
  /** True if this many more bytes of all uploads may be in memory. */
  readonly hasRoom: (more: number) => boolean;
  /** Counts bytes in memory that are not in blocks. */
  readonly count: (bytes: number) => void;
  /**
   * Adds bytes to the temporary file of the request. They must not change until the promise resolves.
   * @throws GatewayError by the promise: `overloaded` if the disk is full
   */
  readonly append: (bytes: Uint8Array) => Promise<FileRange>;
  /** The temporary file, after the first `append`. */
  readonly getFile: () => TemporaryFile;
  readonly isClosed: () => boolean;
}

const HEAD_BYTES = 16;

/**
 * Creates a writer. It copies chunks into blocks, so that many small chunks take no more memory than their bytes. When
 * the memory of all uploads is used up, the blocks of this file go to the temporary file and are used again.
 */
export function createSpoolWriter(context: SpoolContext): OwnedWriter {
  const { isClosed, returnBlock } = context;
  const stored: StoredFile = {
    blocks: [],
    tail: undefined,
    ranges: [],
    head: new Uint8Array(),
    byteLength: 0,
  };
  const readers = { count: 0 };
  let block: Block | undefined;
  let used = 0;
  let isInFile = false;
  let isWriting = false;
  let isReleased = false;
  let pending: Promise<void> | undefined;

  const dropBlock = (): void => {
    if (block !== undefined) returnBlock(block);
    block = undefined;
  };

  const writeToFile = async (bytes: Uint8Array): Promise<void> => {
    isWriting = true;
    try {
      stored.ranges.push(await context.append(bytes));
    } finally {
      isWriting = false;
      if (isReleased) dropBlock();
    }
  };

  const storeBlock = (): Promise<void> | undefined => {
    if (isClosed() || block === undefined || used === 0) return undefined;
    const bytes = block.subarray(0, used);
    if (stored.byteLength === 0) stored.head = bytes.slice(0, HEAD_BYTES);
    stored.byteLength += used;
    used = 0;
    const isFull = bytes.length === BLOCK_BYTES;
    // The block is counted already. The rest of a file is copied to memory of its size, and its block is returned.
    isInFile ||= !context.hasRoom(isFull ? 0 : bytes.length - BLOCK_BYTES);
    if (isInFile) return writeToFile(bytes);
    if (isFull) {
      stored.blocks.push(block);
      block = undefined;
    } else {
      context.count(bytes.length);
      stored.tail = bytes.slice();
    }
    return undefined;
  };

  const write = (chunk: Uint8Array): Promise<void> | undefined => {
    if (isClosed()) return undefined;
    block ??= context.takeBlock();
    const fitting = chunk.subarray(0, BLOCK_BYTES - used);
    block.set(fitting, used);
    used += fitting.length;
    if (used < BLOCK_BYTES) return undefined;
    const rest = chunk.subarray(fitting.length);
    const written = storeBlock();
    return written === undefined ? write(rest) : written.then(() => write(rest));
  };

  return {
    write(chunk) {
      pending = write(chunk);
      return pending;
    },
    async end() {
      // A paused stream may still emit its end.
      await pending;
      await storeBlock();
      dropBlock();
      return createSpooledFile(stored, readers, context);
    },
    release() {
      isReleased = true;
      if (!isWriting) dropBlock();
      // A reader that has not returned from a block may still look at it, so the garbage collector gets it.
      if (readers.count === 0) for (const whole of stored.blocks) returnBlock(whole);
    },
  };
}

/** The bytes of a file: blocks, then a tail that is shorter than a block, then ranges of the temporary file. */
interface StoredFile {
  readonly blocks: Block[];
  tail: Uint8Array | undefined;
  readonly ranges: FileRange[];
  head: Uint8Array;
  byteLength: number;
}

function createSpooledFile(
  { blocks, tail, ranges, head, byteLength }: StoredFile,
  readers: { count: number },
  context: SpoolContext,
): SpooledFile {
  const pieces = tail === undefined ? blocks : [...blocks, tail];
  const checkOpen = (): void => {
    if (context.isClosed())
      throw new Error("The request of this upload is over, and its bytes are no longer available.");
  };

  async function* lend(): AsyncGenerator<Uint8Array, void> {
    checkOpen();
    readers.count++;
    try {
      for (const piece of pieces) {
        yield piece;
        checkOpen();
      }
    } finally {
      readers.count--;
    }
    if (ranges.length === 0) return;
    const buffer = context.takeBlock();
    try {
      for (const { position, length } of ranges) {
        const chunk = buffer.subarray(0, length);
        await context.getFile().read(chunk, position);
        yield chunk;
      }
    } finally {
      context.returnBlock(buffer);
    }
  }

  async function* copy(): AsyncGenerator<Uint8Array, void> {
    for await (const chunk of lend()) yield chunk.slice();
  }

  function* copySync(): Generator<Uint8Array, void> {
    for (const piece of pieces) yield piece.slice();
    for (const { position, length } of ranges) {
      const chunk = new Uint8Array(length);
      context.getFile().readSync(chunk, position);
      yield chunk;
    }
  }

  const file: SpooledFile = {
    head,
    byteLength,
    chunks() {
      checkOpen();
      return copy();
    },
    chunksSync() {
      checkOpen();
      return copySync();
    },
  };
  setLender(file, lend);
  return file;
}

/** A file that only this process can see and that disappears when it is closed. */
export interface TemporaryFile {
  /** Writes all bytes at a position. Several writes may run at the same time. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Fills a buffer. */
  read(into: Uint8Array, position: number): Promise<void>;
  readSync(into: Uint8Array, position: number): void;
  /** Waits for reads and writes that are in progress. */
  close(): Promise<void>;
}

/** Creates a temporary file. `undefined` on runtimes that have none. */
export type OpenTemporaryFile = (() => Promise<TemporaryFile>) | undefined;
