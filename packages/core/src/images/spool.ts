import type { ByteCount } from "../bytes/byte-count.js";
import { BLOCK_BYTES, type Block, type BlockPool, createBlockPool, freshBlocks } from "./block-pool.js";
import {
  createSharedFile,
  type KeptWriter,
  type OpenTemporaryFile,
  type OpenWriter,
  openWriter,
  type SharedFile,
} from "./spooled-file.js";

/** Where the files of forms are kept until their requests are over: in memory, and past a budget in files of ours. */
export interface Spool {
  /** A shelf for one request. @param held its bytes in flight, of which those in a file are none */
  open(held: Pick<ByteCount, "remove">): Shelf;
}

/** What is kept for one request. */
export interface Shelf {
  /** Begins to keep one file of a form. */
  begin(): KeptWriter;
  /** Gives all back. From then on nothing is kept, and what was kept cannot be read. */
  close(): void;
}

/** What a spool is made of. */
export interface SpoolParts {
  /** What all requests together keep in memory. */
  readonly memoryBytes: number;
  /** `undefined`: all is kept in memory. */
  readonly openFile: OpenTemporaryFile;
  /** Default: blocks that are used again where there are files, and else not. */
  readonly pool?: BlockPool | undefined;
}

/** A spool that keeps nothing yet. */
export function createSpool({ memoryBytes, openFile, pool = defaultPool(openFile) }: SpoolParts): Spool {
  const maxBytes = openFile === undefined ? Infinity : memoryBytes;
  let inUse = 0;
  return {
    open(held) {
      const writers: OpenWriter[] = [];
      let own = 0;
      let file: SharedFile | undefined;
      let isClosed = false;
      const count = (more: number): void => {
        if (isClosed) return;
        own += more;
        inUse += more;
      };
      const context = {
        take() {
          count(BLOCK_BYTES);
          return pool.take();
        },
        giveBack(block: Block) {
          count(-BLOCK_BYTES);
          pool.giveBack(block);
        },
        hasRoom: (more: number) => inUse + more <= maxBytes,
        count,
        getFile: () => (file ??= createSharedFile(openFile, (bytes) => held.remove(bytes))),
        isClosed: () => isClosed,
      };
      return {
        begin() {
          const opened = openWriter(context);
          writers.push(opened);
          return opened.writer;
        },
        close() {
          if (isClosed) return;
          isClosed = true;
          // What somebody still looks at counts no more: it is the collector's from here on.
          inUse -= own;
          for (const { release } of writers) release();
          file?.close();
        },
      };
    },
  };
}

const MIB = 1024 * 1024;

/**
 * What files may be kept in of the memory that uploads may take altogether. The rest is for what is on its way, from
 * sockets to blocks and as base64 to sockets again, and for what the runtime needs to move it.
 */
export function toKeptBytes(uploadMemoryBytes: number): number {
  return uploadMemoryBytes - Math.min(128 * MIB, uploadMemoryBytes / 2);
}

/** A runtime without files keeps no memory between requests either. */
function defaultPool(openFile: OpenTemporaryFile): BlockPool {
  return openFile === undefined ? freshBlocks : createBlockPool();
}
