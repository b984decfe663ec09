import { GatewayError } from "../errors.js";
import type { OpenSpoolFile, SpoolFile } from "./spool-file.js";

/** Where bytes stand in a file. */
export interface FileRange {
  readonly position: number;
  readonly length: number;
}

/** The file of a request, in which the files of its form stand one after another. */
export interface SharedFile {
  /** Adds chunks. @throws GatewayError `overloaded` by `written`: there is no room */
  append(chunks: readonly Uint8Array[]): { readonly range: FileRange; readonly written: Promise<void> };
  read(range: FileRange): AsyncIterable<Uint8Array>;
  readSync(range: FileRange): Iterable<Uint8Array>;
  close(): void;
}

/** Bytes that are read at once; a whole number of what base64 is made of at once. */
const READ_BYTES = 288 * 1024;

/** @param onWritten is told of bytes that are no longer held in memory */
export function createSharedFile(openFile: OpenSpoolFile, onWritten: (bytes: number) => void): SharedFile {
  const opening = openFile === undefined ? Promise.reject(new Error("There are no files here.")) : openFile();
  let opened: SpoolFile | undefined;
  let length = 0;

  const write = async (chunks: readonly Uint8Array[], range: FileRange): Promise<void> => {
    try {
      opened = await opening;
      await opened.write(chunks, range.position);
    } catch (cause) {
      throw noRoom(cause);
    }
    onWritten(range.length);
  };

  return {
    append(chunks) {
      const range = { position: length, length: chunks.reduce((sum, chunk) => sum + chunk.length, 0) };
      length += range.length;
      return { range, written: write(chunks, range) };
    },
    async *read(range) {
      const file = await opening;
      for (const { position, length: bytes } of cut(range)) yield await file.read(position, bytes);
    },
    *readSync(range) {
      for (const { position, length: bytes } of cut(range)) {
        if (opened !== undefined) yield opened.readSync(position, bytes);
      }
    },
    close() {
      opening.then((file) => file.close()).catch(ignoreUnopened);
    },
  };
}

/** Whoever wrote to it was told. */
function ignoreUnopened(): void {}

function* cut({ position, length }: FileRange): Iterable<FileRange> {
  for (let done = 0; done < length; done += READ_BYTES) {
    yield { position: position + done, length: Math.min(READ_BYTES, length - done) };
  }
}

/** A full disk, or a folder that cannot be written to: the operator is told the cause. */
function noRoom(cause: unknown): GatewayError {
  return new GatewayError("overloaded", "This server has no room for the form's files: try again soon.", {
    retryAfterSeconds: 5,
    cause,
  });
}
