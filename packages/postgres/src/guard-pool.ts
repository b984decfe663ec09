import type { PostgresClient, PostgresPool } from "./pool.js";

/** Ignores an error event. The statement on the connection rejects by itself, and the pool drops the connection. */
const ignoreError = (): void => undefined;

/** Connections that have our listener. It stays for the life of the connection. */
const guarded = new WeakSet<PostgresClient>();

/** The number of open ledgers of each pool. They share the pool's listeners. */
const users = new WeakMap<PostgresPool, number>();

/**
 * Listens for errors on a connection, so that losing the connection does not end the process. A connection gets at
 * most one such listener, however often this is called.
 */
export function guardClient(client: PostgresClient): void {
  if (guarded.has(client)) return;
  guarded.add(client);
  client.on("error", ignoreError);
}

/**
 * Listens for errors on a pool and on every connection that the pool hands out. Returns the function that ends this.
 *
 * `Pool.connect()` is too late for a listener on the connection: pg-pool removes its own listener, then resolves the
 * promise, and `pg` handles the rest of the TCP segment before the code that awaits the promise runs. If the rest says
 * that the server ended the session, the `error` event has no listener and ends the process. The events `connect` and
 * `acquire` come before pg-pool removes its listener.
 */
export function guardPool(pool: PostgresPool): () => void {
  const before = users.get(pool) ?? 0;
  users.set(pool, before + 1);
  if (before === 0) {
    pool.on("error", ignoreError);
    pool.on("connect", guardClient);
    pool.on("acquire", guardClient);
  }
  return () => {
    const left = (users.get(pool) ?? 1) - 1;
    users.set(pool, left);
    if (left > 0) return;
    pool.removeListener("error", ignoreError);
    pool.removeListener("connect", guardClient);
    pool.removeListener("acquire", guardClient);
  };
}
