/** A value, or the promise of it: what is known at once costs nobody a wait. To be awaited like any promise. */
export type Awaitable<T> = T | Promise<T>;

/**
 * Whether a value is to be waited for. Not by `instanceof`: the queries of Prisma, Drizzle and Knex are no promises
 * and run only once somebody waits for them.
 */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
