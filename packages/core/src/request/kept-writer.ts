import { BLOCK_BYTES, type Block } from "./block-pool.js";
import { createKeptFile, type KeptFile, type KeptFileContext, type Loans } from "./kept-file.js";
import type { FileRange } from "./shared-file.js";

/** Keeps a file as it comes. */
export interface KeptWriter {
  /**
   * Keeps a chunk. Where it gives a promise, the next chunk has to wait for it.
   * @throws GatewayError `overloaded` by the promise: there is no room on the disk
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** All that was written, once it is. */
  end(): Promise<KeptFile>;
}

/** A writer, and the end of what it kept. */
export interface OpenWriter {
  readonly writer: KeptWriter;
  /** Gives the blocks back that nobody can be looking at. */
  readonly release: () => void;
}

/** What writers need of their shelf. */
export interface WriterContext extends Omit<KeptFileContext, "loans"> {
  /** True where so many bytes more of all uploads may be held in memory. */
  readonly hasRoom: (more: number) => boolean;
  /** Counts bytes that are held beside blocks. */
  readonly count: (bytes: number) => void;
}

const HEAD_BYTES = 16;

/**
 * Chunks are copied into blocks: what they came in is free again at once, and many small ones hold no more than
 * their bytes. A block that goes to the file is used again.
 */
export function openWriter(context: WriterContext): OpenWriter {
  const { getFile, isClosed } = context;
  const blocks: Block[] = [];
  /** What is less than a block, in memory of its size. */
  let tail: Uint8Array | undefined;
  const ranges: FileRange[] = [];
  const loans: Loans = { readers: 0, areForGood: false };
  let head: Uint8Array = new Uint8Array();
  let block: Block | undefined;
  let used = 0;
  let byteLength = 0;
  let isInFile = false;
  let isWriting = false;
  let pending: Promise<void> | undefined;

  const giveBlockBack = (): void => {
    if (block !== undefined && !isWriting) context.giveBack(block);
    block = undefined;
  };

  const append = async (bytes: Uint8Array): Promise<void> => {
    const { range, written } = getFile().append(bytes);
    ranges.push(range);
    isWriting = true;
    const writing = block;
    try {
      await written;
    } finally {
      isWriting = false;
      // It was let go of while the file was written from it.
      if (block === undefined && writing !== undefined) context.giveBack(writing);
    }
  };

  /** Keeps what is in the block. */
  const flush = (): Promise<void> | undefined => {
    if (isClosed() || block === undefined || used === 0) return undefined;
    const bytes = block.subarray(0, used);
    if (byteLength === 0) head = bytes.slice(0, HEAD_BYTES);
    byteLength += used;
    used = 0;
    const isWhole = bytes.length === BLOCK_BYTES;
    // The block counts already; less than a block takes its place.
    isInFile ||= !context.hasRoom(isWhole ? 0 : bytes.length - BLOCK_BYTES);
    if (isInFile) return append(bytes);
    if (isWhole) {
      blocks.push(block);
      block = undefined;
    } else {
      context.count(bytes.length);
      tail = bytes.slice();
    }
    return undefined;
  };

  /** Copies as much of a chunk as fits, and gives the rest. */
  const fill = (chunk: Uint8Array): Uint8Array => {
    block ??= context.take();
    const fitting = chunk.subarray(0, BLOCK_BYTES - used);
    block.set(fitting, used);
    used += fitting.length;
    return chunk.subarray(fitting.length);
  };

  const write = (chunk: Uint8Array): Promise<void> | undefined => {
    if (isClosed()) return undefined;
    const rest = fill(chunk);
    if (used < BLOCK_BYTES) return undefined;
    const written = flush();
    return written === undefined ? write(rest) : written.then(() => write(rest));
  };

  return {
    writer: {
      write(chunk) {
        pending = write(chunk);
        return pending;
      },
      async end() {
        // A stream that is paused tells its end all the same.
        await pending;
        await flush();
        giveBlockBack();
        const pieces = tail === undefined ? blocks : [...blocks, tail];
        return createKeptFile({ pieces, ranges, head, byteLength }, { ...context, loans });
      },
    },
    release() {
      giveBlockBack();
      if (loans.readers > 0 || loans.areForGood) return;
      for (const kept of blocks) context.giveBack(kept);
    },
  };
}
