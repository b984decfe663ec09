/** A query as Prisma, Drizzle and Knex make them: no `Promise`, and run only once somebody waits for it. */
export function createLazyQuery<T>(run: () => T): PromiseLike<T> {
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- that is what it is.
    then: (onDone, onFailed) => Promise.resolve().then(run).then(onDone, onFailed),
  };
}
