import { GatewayError } from "../errors.js";
import type { ByteCount } from "../util/held-bytes.js";
import { BLOCK_BYTES, type BlockPool, createBlockPool, freshBlocks } from "./block-pool.js";
import {
  createSpoolWriter,
  type OpenTemporaryFile,
  type OwnedWriter,
  type SpoolContext,
  type SpoolWriter,
  type TemporaryFile,
} from "./spooled-file.js";

/**
 * Stores uploaded files until their requests are over, because a request may be sent to several channels. Files are in
 * memory up to a limit for all requests together; further files are written to a temporary file per request.
 */
export interface Spool {
  /**
   * Opens the spool of one request.
   * @param held the request's bytes in flight; bytes in the temporary file no longer count
   */
  open(held: Pick<ByteCount, "remove">): RequestSpool;
}

/** The uploaded files of one request. */
export interface RequestSpool {
  /** Begins a file. */
  begin(): SpoolWriter;
  /** Releases everything. From then on files can be neither written nor read. */
  close(): void;
}

/** The options of a spool. */
export interface SpoolOptions {
  /** The most memory for the files of all requests. */
  readonly memoryBytes: number;
  /** `undefined`: everything stays in memory. */
  readonly openFile: OpenTemporaryFile;
  /** Default: blocks are used again on runtimes with temporary files, and are always new on others. */
  readonly pool?: BlockPool | undefined;
}

/** Creates an empty spool. */
export function createSpool({
  memoryBytes,
  openFile,
  pool = openFile === undefined ? freshBlocks : createBlockPool(),
}: SpoolOptions): Spool {
  const maxBytes = openFile === undefined ? Infinity : memoryBytes;
  let inUse = 0;
  return {
    open(held) {
      const writers: OwnedWriter[] = [];
      let ownBytes = 0;
      const file = createRequestFile(openFile, (bytes) => held.remove(bytes));
      let isClosed = false;
      const count = (more: number): void => {
        if (isClosed) return;
        ownBytes += more;
        inUse += more;
      };
      const context: SpoolContext = {
        takeBlock() {
          count(BLOCK_BYTES);
          return pool.take();
        },
        returnBlock(block) {
          count(-BLOCK_BYTES);
          pool.giveBack(block);
        },
        hasRoom: (more) => inUse + more <= maxBytes,
        count,
        append: file.append,
        getFile: file.get,
        isClosed: () => isClosed,
      };
      return {
        begin() {
          const writer = createSpoolWriter(context);
          writers.push(writer);
          return writer;
        },
        close() {
          if (isClosed) return;
          isClosed = true;
          // Blocks that a reader still uses no longer count: the garbage collector gets them.
          inUse -= ownBytes;
          for (const writer of writers) writer.release();
          file.close();
        },
      };
    },
  };
}

interface RequestFile extends Pick<SpoolContext, "append"> {
  readonly get: SpoolContext["getFile"];
  readonly close: () => void;
}

/**
 * The temporary file of one request, opened at the first write. The files of its form stand in it one after another.
 *
 * @param onWritten called with the number of bytes that are no longer in memory
 */
function createRequestFile(open: OpenTemporaryFile, onWritten: (bytes: number) => void): RequestFile {
  let opening: Promise<TemporaryFile> | undefined;
  let opened: TemporaryFile | undefined;
  let length = 0;
  return {
    async append(bytes) {
      const range = { position: length, length: bytes.length };
      length += range.length;
      try {
        opening ??= open?.();
        opened = await opening;
        await opened?.write(bytes, range.position);
      } catch (cause) {
        throw diskFull(cause);
      }
      onWritten(range.length);
      return range;
    },
    get() {
      if (opened === undefined) throw new Error("Nothing was written to the temporary file.");
      return opened;
    },
    close() {
      // The writer has already reported a file that could not be opened.
      opening?.then((file) => file.close()).catch(() => undefined);
    },
  };
}

/** The disk is full, or its folder is not writable. The log shows the cause. */
function diskFull(cause: unknown): GatewayError {
  return new GatewayError("overloaded", "This server has no room for the form's files: try again soon.", {
    retryAfterSeconds: 5,
    limit: "disk",
    cause,
  });
}

const MIB = 1024 * 1024;

/**
 * The part of `uploadMemoryBytes` that stores files. The rest is for transfer: sockets, base64, and what the runtime
 * needs for them.
 */
export function toSpoolBytes(uploadMemoryBytes: number): number {
  return uploadMemoryBytes - Math.min(128 * MIB, uploadMemoryBytes / 2);
}
