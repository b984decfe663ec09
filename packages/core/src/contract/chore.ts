/**
 * Background work of a feature. `kernel/lifecycle.ts` calls its functions at these moments, and those of several chores in the order
 * of the features. A chore has only the functions that it needs. None of them throws or rejects.
 */
export interface Chore {
  /** When the gateway was created, before any request. Called once. */
  readonly open?: (() => void) | undefined;
  /**
   * Begins what is due: with the first request, and then every 10 s. It goes on beside the rounds of the ledger, which do not wait for
   * it. If it returns a promise, it is called again only after that has ended, and `close()` waits for it.
   */
  readonly begin?: (() => Promise<void> | undefined) | undefined;
  /**
   * In each round of the ledger, every 10 s: takes holds of processes that died, before the ledger ends those that are left.
   *
   * @param once true for `gateway.runTasks()`, which is not one of the rounds
   * @returns a promise that is fulfilled when the calls of these holds have ended. It is in an object, because a round does not wait for it.
   */
  readonly takeOver?:
    | ((once?: boolean) => Promise<{ readonly ended: Promise<unknown> }> | undefined)
    | undefined;
  /**
   * In each round, after the ledger has ended holds of processes that died.
   *
   * @param own whether the work of this process ends as well: `close()` calls it so when its deadline is over
   */
  readonly sweep?: ((own?: boolean) => Promise<void>) | undefined;
  /** When `close()` is called: begins nothing more. What was begun goes on, if it is tracked. Has time until the deadline. */
  readonly stop?: (() => Promise<void> | void) | undefined;
  /** When no call is in progress: resolves when nothing that `begin` has begun is either. The last records wait for it. */
  readonly idle?: (() => Promise<unknown>) | undefined;
  /** In `gateway.runTasks()`, when its tasks have ended: sends what is due. Resolves when it was sent, or after this time. */
  readonly flush?: ((ms: number) => Promise<void>) | undefined;
  /** With the last records: delivers what is left, and takes nothing more. */
  readonly deliver?: (() => Promise<void>) | undefined;
  /** At the same time as `idle` and `deliver`: ends what is being sent to others. If it takes too long, the connections are cut. */
  readonly finish?: (() => Promise<void>) | undefined;
  /** When everything else has ended. */
  readonly end?: (() => Promise<void> | void) | undefined;
}
