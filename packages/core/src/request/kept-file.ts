import type { KeptBytes } from "../uploaded-image.js";
import type { Block } from "./block-pool.js";
import type { FileRange, SharedFile } from "./shared-file.js";

/** A file of a form. */
export interface KeptFile extends KeptBytes {
  /** Its first bytes, enough to tell what it is. */
  readonly head: Uint8Array;
}

/** What was kept of a file: its beginning in memory, and the rest in ranges of the shared file. */
export interface KeptParts {
  readonly pieces: readonly Uint8Array[];
  readonly ranges: readonly FileRange[];
  readonly head: Uint8Array;
  readonly byteLength: number;
}

/** How it is read. */
export interface KeptFileContext {
  readonly loans: Loans;
  readonly getFile: () => SharedFile;
  readonly isClosed: () => boolean;
  /** Memory to read into, and its end. */
  readonly take: () => Block;
  readonly giveBack: (block: Block) => void;
}

/** Who may be looking at the blocks of a file. */
export interface Loans {
  /** Readers who have a block until they ask for the next, or leave. */
  readers: number;
  /** True once somebody was given blocks for good. */
  areForGood: boolean;
}

/** A file of what was kept of it. */
export function createKeptFile(parts: KeptParts, context: KeptFileContext): KeptFile {
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
