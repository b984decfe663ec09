/** A file that only this process sees, and that is gone when it is closed. */
export interface SpoolFile {
  /** Writes all of the bytes at a place. Several writes may be under way at once. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Fills a buffer. */
  read(into: Uint8Array, position: number): Promise<void>;
  readSync(into: Uint8Array, position: number): void;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** Makes a file; `undefined` where the runtime has none. */
export type OpenSpoolFile = (() => Promise<SpoolFile>) | undefined;
