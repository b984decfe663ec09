import type { Pool } from "pg";
import type { PostgresPool } from "../pool.js";

/** The pool. The listener is called with each statement that is sent over it. */
export function recordStatements(
  pool: Pool,
  onStatement: (sql: string) => void,
  onRows?: (sql: string, rows: Record<string, unknown>[]) => void,
): PostgresPool {
  const recording: Pick<PostgresPool, "connect"> = {
    connect: async () => {
      const client = await pool.connect();
      return {
        query: async (query) => {
          onStatement(query.text);
          const result = await client.query(query);
          // Several statements in one query return a list of results.
          onRows?.(query.text, Array.isArray(result) ? [] : result.rows);
          return result;
        },
        release: (destroy) => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
      };
    },
  };
  return Object.assign(Object.create(pool), recording);
}
