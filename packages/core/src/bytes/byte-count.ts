/** Counts bytes that are held. */
export interface ByteCount {
  /** Counts bytes that are there already, such as a provider's answer, past a budget if need be. */
  addAnyway(bytes: number): void;
  /** Counts bytes no more that are not held any longer, such as those that were written to a disk. */
  remove(bytes: number): void;
}
