import { createByteBudget, type TakenBytes } from "../admission/byte-budget.js";
import type { KeptBytes } from "../uploaded-image.js";
import { createChunkJoiner } from "./join-small-chunks.js";
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

/** Bytes that go to the file at once. */
const BATCH_BYTES = 256 * 1024;
const HEAD_BYTES = 16;

function createWriter({ fitsMemory, getFile, isClosed }: WriterParts): KeptWriter {
  const chunks: Uint8Array[] = [];
  const ranges: FileRange[] = [];
  let head: Uint8Array = new Uint8Array();
  let byteLength = 0;
  let batch: Uint8Array[] = [];
  let batchBytes = 0;
  let isInFile = false;

  const joiner = createChunkJoiner((chunk) => {
    if (isClosed()) return;
    if (head.length < HEAD_BYTES)
      head = Uint8Array.of(...head, ...chunk.subarray(0, HEAD_BYTES - head.length));
    byteLength += chunk.length;
    isInFile ||= !fitsMemory(chunk.length);
    if (!isInFile) return void chunks.push(chunk);
    batch.push(chunk);
    batchBytes += chunk.length;
  });

  const flush = async (): Promise<void> => {
    if (isClosed() || batchBytes === 0) return;
    const { range, written } = getFile().append(batch);
    ranges.push(range);
    [batch, batchBytes] = [[], 0];
    await written;
  };

  return {
    write(chunk) {
      joiner.add(chunk);
      return batchBytes < BATCH_BYTES ? undefined : flush();
    },
    async end() {
      joiner.end();
      await flush();
      return toKeptFile({ chunks, ranges, head, byteLength }, { getFile, isClosed });
    },
  };
}

/** What was kept of a file: its beginning in memory, and the rest in ranges of the shared file. */
interface Kept {
  readonly chunks: readonly Uint8Array[];
  readonly ranges: readonly FileRange[];
  readonly head: Uint8Array;
  readonly byteLength: number;
}

function toKeptFile(
  { chunks, ranges, head, byteLength }: Kept,
  { getFile, isClosed }: Pick<WriterParts, "getFile" | "isClosed">,
): KeptFile {
  const checkOpen = (): void => {
    if (isClosed()) throw new Error("The request of this upload is over, and its bytes are gone.");
  };
  async function* readAll(): AsyncGenerator<Uint8Array, void> {
    yield* chunks;
    for (const range of ranges) yield* getFile().read(range);
  }
  function* readAllSync(): Generator<Uint8Array, void> {
    yield* chunks;
    for (const range of ranges) yield* getFile().readSync(range);
  }
  return {
    head,
    byteLength,
    chunks() {
      checkOpen();
      return ranges.length === 0 ? chunks : readAll();
    },
    chunksSync() {
      checkOpen();
      return readAllSync();
    },
  };
}
