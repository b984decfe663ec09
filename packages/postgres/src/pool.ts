/** What the ledger asks for in one call. */
export interface PostgresQuery {
  readonly text: string;
  readonly values: unknown[];
  /** Every column as the text that PostgreSQL sends, whatever parsers the app has set. */
  readonly types: { getTypeParser(): (text: string) => string };
}

/** A connection that was taken from the pool. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  /** With `true` the connection is closed and not used again. */
  release(destroy?: boolean): void;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}

/** What the ledger needs of a pool of connections; a `Pool` of `pg` is one. */
export interface PostgresPool {
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: (error: Error) => void): unknown;
  removeListener(event: "error", listener: (error: Error) => void): unknown;
}
