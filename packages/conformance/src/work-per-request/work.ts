/** Counts of the work between two moments. */
export interface Work {
  /** System calls that write to clients, minus one for each chunk from the provider. */
  readonly moreWritesThanReads: number;
  readonly jsonParses: number;
  readonly jsonParsedChars: number;
  readonly jsonStringifies: number;
  readonly jsonStringifiedChars: number;
  /** Bytes that were decoded to strings. */
  readonly decodedBytes: number;
  /** Bytes that were encoded from strings. */
  readonly encodedBytes: number;
  /** Bytes that were copied from one buffer to another. */
  readonly copiedBytes: number;
  readonly promises: number;
  readonly timers: number;
  /** Connections, file system requests, and tasks of the thread pool. */
  readonly handles: number;
}

/**
 * What the process of the gateway is told. `stop counting` gets its {@link Work}; `stop
 * allocating` with
 * the bytes that its heap has taken, or nothing where a collection took some of them back; `tell what is
 * held` with
 * the bytes of its heap and its buffers, once all garbage is gone.
 */
export type Order =
  | "start counting"
  | "stop counting"
  | "start allocating"
  | "stop allocating"
  | "tell what is held";
