/** A file that only this process sees, and that is gone when it is closed. */
export interface SpoolFile {
  /** Writes all of the chunks at a place. Several may be under way at once. */
  write(chunks: readonly Uint8Array[], position: number): Promise<void>;
  read(position: number, length: number): Promise<Uint8Array>;
  readSync(position: number, length: number): Uint8Array;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** Makes a file; `undefined` where the runtime has none. */
export type OpenSpoolFile = (() => Promise<SpoolFile>) | undefined;
