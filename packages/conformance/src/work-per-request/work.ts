/** Counts of the work between two moments. */
export interface Work {
  /** System calls that write to clients, minus one for each chunk from the provider. */
  readonly moreWritesThanReads: number;
  /** Bytes that were decoded to strings. */
  readonly decodedBytes: number;
  /** Bytes that were copied from one buffer to another. */
  readonly copiedBytes: number;
  readonly promises: number;
  readonly timers: number;
  /** Connections, file system requests, and tasks of the thread pool. */
  readonly handles: number;
}

/**
 * The commands for the process of the gateway. `stop counting` returns the {@link Work}, `stop listing files` the source
 * files of core that ran. `stop allocating` returns the bytes that were allocated on the heap, or nothing if a garbage
 * collection freed some of them. `tell what is held` returns the bytes of the heap and of buffers after a garbage collection.
 */
export type Order =
  | "start counting"
  | "stop counting"
  | "start listing files"
  | "stop listing files"
  | "start allocating"
  | "stop allocating"
  | "tell what is held";
