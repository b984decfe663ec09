/** A query like those of Prisma, Drizzle and Knex: not a `Promise`, and run only when it is awaited. */
export function createLazyQuery<T>(run: () => T): PromiseLike<T> {
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- that is what it is.
    then: (onDone, onFailed) => Promise.resolve().then(run).then(onDone, onFailed),
  };
}
