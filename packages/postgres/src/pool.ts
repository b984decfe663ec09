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
}

/** The part of a connection pool that the ledger uses. A `Pool` of `pg` has it. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "connect" | "acquire", listener: (client: PostgresClient) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "connect" | "acquire", listener: (client: PostgresClient) => void): unknown;
}
