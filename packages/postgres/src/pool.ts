/** One statement, as the ledger sends it. */
export interface PostgresQuery {
  readonly text: string;
  readonly values: unknown[];
  /** Returns every column as the string that PostgreSQL sends, whatever parsers the app has set. */
  readonly types: { getTypeParser(): (text: string) => string };
}

/** A connection that was taken from the pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  /** With `true` the connection is closed and not used again. */
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  on(event: "notification", listener: (message: PostgresNotification) => void): unknown;
  /** Lets the process end although the connection is open. */
  unref?(): void;
}

/** A notification that a connection received after `LISTEN`. */
export interface PostgresNotification {
  readonly payload?: string | undefined;
}

/** The part of a connection pool that the ledger uses. A `Pool` of `pg` has it. */
export interface PostgresPool {
  /** The maximum number of connections. */
  readonly options?: { readonly max?: number | undefined };
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect" | "acquire", listener: (client: PostgresClient) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "connect" | "acquire", listener: (client: PostgresClient) => void): unknown;
}

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
