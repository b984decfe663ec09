import { GatewayError } from "../errors.js";
import { BLOCK_BYTES, type Block } from "./block-pool.js";
import type { KeptBytes } from "./reference-image.js";

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

/** A file of a form. */
export interface KeptFile extends KeptBytes {
  /** Its first bytes, enough to tell what it is. */
  readonly head: Uint8Array;
}

/** What was kept of a file: its beginning in memory, and the rest in ranges of the shared file. */
interface KeptParts {
  readonly pieces: readonly Uint8Array[];
  readonly ranges: readonly FileRange[];
  readonly head: Uint8Array;
  readonly byteLength: number;
}

/** How it is read. */
interface KeptFileContext {
  readonly loans: Loans;
  readonly getFile: () => SharedFile;
  readonly isClosed: () => boolean;
  /** Memory to read into, and its end. */
  readonly take: () => Block;
  readonly giveBack: (block: Block) => void;
}

/** Who may be looking at the blocks of a file. */
interface Loans {
  /** Readers who have a block until they ask for the next, or leave. */
  readers: number;
  /** True once somebody was given blocks for good. */
  areForGood: boolean;
}

/** A file of what was kept of it. */
function createKeptFile(parts: KeptParts, context: KeptFileContext): KeptFile {
  const { pieces, ranges, head, byteLength } = parts;
  const { loans, getFile } = context;
  const checkOpen = (): void => {
    if (context.isClosed()) throw new Error("The request of this upload is over, and its bytes are gone.");
  };

  /** A reader that never comes back keeps its block from being used again. */
  function* lendBlocks(): Generator<Uint8Array, void> {
    checkOpen();
    loans.readers += 1;
    try {
      for (const piece of pieces) {
        yield piece;
        checkOpen();
      }
    } finally {
      loans.readers -= 1;
    }
  }

  async function* lendAll(): AsyncGenerator<Uint8Array, void> {
    yield* lendBlocks();
    const buffer = context.take();
    try {
      for (const { position, length } of ranges) {
        const chunk = buffer.subarray(0, length);
        await getFile().read(chunk, position);
        yield chunk;
      }
    } finally {
      context.giveBack(buffer);
    }
  }

  async function* giveAll(): AsyncGenerator<Uint8Array, void> {
    yield* pieces;
    for (const { position, length } of ranges) {
      const chunk = new Uint8Array(length);
      await getFile().read(chunk, position);
      yield chunk;
    }
  }

  function* giveAllSync(): Generator<Uint8Array, void> {
    yield* pieces;
    for (const { position, length } of ranges) {
      const chunk = new Uint8Array(length);
      getFile().readSync(chunk, position);
      yield chunk;
    }
  }

  return {
    head,
    byteLength,
    chunks({ reuse = false } = {}) {
      checkOpen();
      if (reuse) return ranges.length === 0 ? lendBlocks() : lendAll();
      loans.areForGood = true;
      return ranges.length === 0 ? pieces : giveAll();
    },
    chunksSync() {
      checkOpen();
      loans.areForGood = true;
      return giveAllSync();
    },
  };
}

/** Where bytes stand in a file. */
interface FileRange {
  readonly position: number;
  readonly length: number;
}

/** The file of a request, in which the files of its form stand one after another. */
export interface SharedFile {
  /** Adds bytes, which must stay as they are until then. @throws GatewayError `overloaded` by `written`: no room */
  append(bytes: Uint8Array): { readonly range: FileRange; readonly written: Promise<void> };
  /** Fills a buffer from a place. */
  read(into: Uint8Array, position: number): Promise<void>;
  readSync(into: Uint8Array, position: number): void;
  close(): void;
}

/** @param onWritten is told of bytes that are no longer held in memory */
export function createSharedFile(
  openFile: OpenTemporaryFile,
  onWritten: (bytes: number) => void,
): SharedFile {
  const opening = openFile === undefined ? Promise.reject(new Error("There are no files here.")) : openFile();
  let opened: TemporaryFile | undefined;
  let length = 0;

  const write = async (bytes: Uint8Array, range: FileRange): Promise<void> => {
    try {
      opened = await opening;
      await opened.write(bytes, range.position);
    } catch (cause) {
      throw noRoom(cause);
    }
    onWritten(range.length);
  };

  return {
    append(bytes) {
      const range = { position: length, length: bytes.length };
      length += range.length;
      return { range, written: write(bytes, range) };
    },
    async read(into, position) {
      await (await opening).read(into, position);
    },
    readSync(into, position) {
      if (opened === undefined) throw new Error("Nothing was written to the file.");
      opened.readSync(into, position);
    },
    close() {
      opening.then((file) => file.close()).catch(ignoreUnopened);
    },
  };
}

/** Whoever wrote to it was told. */
function ignoreUnopened(): void {}

/** A full disk, or a folder that cannot be written to: the operator is told the cause. */
function noRoom(cause: unknown): GatewayError {
  return new GatewayError("overloaded", "This server has no room for the form's files: try again soon.", {
    retryAfterSeconds: 5,
    cause,
  });
}

/** A file that only this process sees, and that is gone when it is closed. */
export interface TemporaryFile {
  /** Writes all of the bytes at a place. Several writes may be under way at once. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Fills a buffer. */
  read(into: Uint8Array, position: number): Promise<void>;
  readSync(into: Uint8Array, position: number): void;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** Makes a file; `undefined` where the runtime has none. */
export type OpenTemporaryFile = (() => Promise<TemporaryFile>) | undefined;
