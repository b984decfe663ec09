import { createByteBudget, type TakenBytes } from "../admission/byte-budget.js";
import type { KeptBytes } from "../uploaded-image.js";
import { createSharedFile, type FileRange, type SharedFile } from "./shared-file.js";
import type { OpenSpoolFile } from "./spool-file.js";

/** Where the files of forms are kept until their requests are over: in memory, and past a budget in files of ours. */
export interface Spool {
  /** A shelf for one request. @param held its bytes in flight, of which those in a file are none */
  open(held: Pick<TakenBytes, "remove">): Shelf;
}

/** What is kept for one request. */
export interface Shelf {
  /** Begins to keep one file of a form. */
  begin(): KeptWriter;
  /** Gives all back. From then on nothing is kept, and what was kept cannot be read. */
  close(): void;
}

/** Keeps a file as it comes. */
export interface KeptWriter {
  /**
   * Keeps a chunk. Where it gives a promise, the next chunk has to wait for it.
   * @throws GatewayError `overloaded` by the promise: there is no room on the disk
   */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** All that was written. */
  end(): Promise<KeptFile>;
}

/** A file of a form. */
export interface KeptFile extends KeptBytes {
  /** Its first bytes, enough to tell what it is. */
  readonly head: Uint8Array;
}

/** What a spool is made of. */
export interface SpoolParts {
  /** What all requests together keep in memory. */
  readonly memoryBytes: number;
  /** `undefined`: all is kept in memory. */
  readonly openFile: OpenSpoolFile;
}

/** A spool that keeps nothing yet. */
export function createSpool({ memoryBytes, openFile }: SpoolParts): Spool {
  const budget = createByteBudget(openFile === undefined ? Infinity : memoryBytes);
  return {
    open(held) {
      const memory = budget.take(0);
      let file: SharedFile | undefined;
      let isClosed = false;
      const parts: WriterParts = {
        fitsMemory: (bytes) => memory?.add(bytes) === true,
        getFile: () => (file ??= createSharedFile(openFile, (bytes) => held.remove(bytes))),
        isClosed: () => isClosed,
      };
      return {
        begin: () => createWriter(parts),
        close() {
          isClosed = true;
          memory?.giveBack();
          file?.close();
        },
      };
    },
  };
}

/** What writers need of their shelf. */
interface WriterParts {
  /** Counts bytes that are kept in memory, unless they are too many. */
  readonly fitsMemory: (bytes: number) => boolean;
  readonly getFile: () => SharedFile;
  readonly isClosed: () => boolean;
}

/** Bytes that are kept, or go to the file, at once; a whole number of what base64 is made of at once. */
const BLOCK_BYTES = 288 * 1024;
const HEAD_BYTES = 16;

/**
 * Chunks are copied into blocks: what they came in is free again at once, and many small ones hold no more than
 * their bytes. A block that goes to the file is used again.
 */
function createWriter({ fitsMemory, getFile, isClosed }: WriterParts): KeptWriter {
  const blocks: Uint8Array[] = [];
  const ranges: FileRange[] = [];
  let head: Uint8Array = new Uint8Array();
  let block: Uint8Array | undefined;
  let used = 0;
  let byteLength = 0;
  let isInFile = false;

  /** Keeps what is in the block. */
  const flush = (): Promise<void> | undefined => {
    if (isClosed() || block === undefined || used === 0) return undefined;
    const whole = used === BLOCK_BYTES;
    const bytes = block.subarray(0, used);
    if (byteLength === 0) head = bytes.slice(0, HEAD_BYTES);
    byteLength += used;
    used = 0;
    isInFile ||= !fitsMemory(bytes.length);
    if (isInFile) {
      const { range, written } = getFile().append(bytes);
      ranges.push(range);
      return written;
    }
    // What is smaller than its block is kept as a copy of its size.
    blocks.push(whole ? bytes : bytes.slice());
    if (whole) block = undefined;
    return undefined;
  };

  /** Copies as much of a chunk as fits, and gives the rest. */
  const fill = (chunk: Uint8Array): Uint8Array => {
    block ??= new Uint8Array(BLOCK_BYTES);
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
    write,
    async end() {
      await flush();
      return toKeptFile({ blocks, ranges, head, byteLength }, { getFile, isClosed });
    },
  };
}

/** What was kept of a file: its beginning in memory, and the rest in ranges of the shared file. */
interface Kept {
  readonly blocks: readonly Uint8Array[];
  readonly ranges: readonly FileRange[];
  readonly head: Uint8Array;
  readonly byteLength: number;
}

function toKeptFile(
  { blocks, ranges, head, byteLength }: Kept,
  { getFile, isClosed }: Pick<WriterParts, "getFile" | "isClosed">,
): KeptFile {
  const checkOpen = (): void => {
    if (isClosed()) throw new Error("The request of this upload is over, and its bytes are gone.");
  };
  async function* readAll(reuse: boolean): AsyncGenerator<Uint8Array, void> {
    yield* blocks;
    let buffer: Uint8Array | undefined;
    for (const { position, length } of ranges) {
      if (!reuse || buffer === undefined) buffer = new Uint8Array(BLOCK_BYTES);
      const chunk = buffer.subarray(0, length);
      await getFile().read(chunk, position);
      yield chunk;
    }
  }
  function* readAllSync(): Generator<Uint8Array, void> {
    yield* blocks;
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
      return ranges.length === 0 ? blocks : readAll(reuse);
    },
    chunksSync() {
      checkOpen();
      return readAllSync();
    },
  };
}
