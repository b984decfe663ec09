import { GatewayError } from "../errors.js";
import type { OpenSpoolFile, SpoolFile } from "./spool-file.js";

/** Where bytes stand in a file. */
export interface FileRange {
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
export function createSharedFile(openFile: OpenSpoolFile, onWritten: (bytes: number) => void): SharedFile {
  const opening = openFile === undefined ? Promise.reject(new Error("There are no files here.")) : openFile();
  let opened: SpoolFile | undefined;
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
