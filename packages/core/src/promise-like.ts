/**
 * Whether a value is to be waited for. Not by `instanceof`: the queries of Prisma, Drizzle and Knex are no promises
 * and run only once somebody waits for them.
 */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
