/** Holds for which it is unknown whether they were made or will be made: their statement failed, or was sent twice. */
export interface UnsureHolds {
  add(hold: { readonly id: string; readonly caller: string }): void;
  /** The caller of the hold; `undefined` if the hold is not unsure. */
  callerOf(id: string): string | undefined;
  /** The hold was released or settled. */
  forget(id: string): void;
}

/** The maximum number of unsure holds. Core releases each of them soon; beyond this number the oldest is forgotten. */
const MOST = 10_000;

/** Keeps the unsure holds in the memory of this process. */
export function createUnsureHolds(): UnsureHolds {
  const callers = new Map<string, string>();
  return {
    add: ({ id, caller }) => {
      const [oldest] = callers.keys();
      if (callers.size >= MOST && oldest !== undefined) callers.delete(oldest);
      callers.set(id, caller);
    },
    callerOf: (id) => callers.get(id),
    forget: (id) => void callers.delete(id),
  };
}
