/** Bytes that one request holds. */
export interface TakenBytes {
  /** Counts more bytes, unless they are more than the budget has left: then false, and nothing is counted. */
  add(bytes: number): boolean;
  /** Counts bytes that are there already, such as a provider's answer, past the budget if need be. */
  addAnyway(bytes: number): void;
  /** Counts bytes no more that are not held any longer, such as those that were written to a disk. */
  remove(bytes: number): void;
  /** Gives all back. A second time does nothing, and nothing is counted from then on. */
  giveBack(): void;
}

/** The bytes of all bodies that a gateway holds at a time. */
export interface ByteBudget {
  /** Counts the bytes of one more request; `undefined` when they are more than the budget has left. */
  take(bytes: number): TakenBytes | undefined;
  readonly inUse: number;
  /** The whole of it. */
  readonly maxBytes: number;
}

/** A budget of so many bytes. */
export function createByteBudget(maxBytes: number): ByteBudget {
  let inUse = 0;
  return {
    maxBytes,
    take(bytes) {
      if (inUse + bytes > maxBytes) return undefined;
      let own = 0;
      let isGivenBack = false;
      const count = (more: number): void => {
        own += more;
        inUse += more;
      };
      count(bytes);
      return {
        add(more) {
          if (isGivenBack || inUse + more > maxBytes) return false;
          count(more);
          return true;
        },
        addAnyway(more) {
          if (!isGivenBack) count(more);
        },
        remove(fewer) {
          if (!isGivenBack) count(-Math.min(fewer, own));
        },
        giveBack() {
          isGivenBack = true;
          count(-own);
        },
      };
    },
    get inUse() {
      return inUse;
    },
  };
}
