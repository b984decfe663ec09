import { setTimeout as sleep } from "node:timers/promises";
import { ignoreLostConnection } from "./ignore-lost-connection.js";
import type { PostgresClient, PostgresPool } from "./pool.js";
import { isTransient } from "./postgres-error.js";
import type { Row } from "./read-column.js";
import { withDeadline } from "./with-deadline.js";

/** A statement with the values of its `$1`, `$2`, …. */
export interface SqlQuery {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Sends one statement and gives its rows. */
export type Send = (query: SqlQuery) => Promise<readonly Row[]>;

/** The database behind a pool. */
export interface Database {
  /**
   * Runs one statement, a transaction of its own. It may be run twice, where nobody knows what became of the first
   * time. Rejects when there is no answer in time; then the statement may be done all the same, and later.
   *
   * @param query the statement, or what makes it of the milliseconds that are left when it is sent
   */
  run(query: SqlQuery | ((msLeft: number) => SqlQuery), timeoutMs?: number): Promise<readonly Row[]>;
  /** Gives a connection to `work`, for transactions of more than one statement. */
  connect<T>(work: (send: Send) => Promise<T>): Promise<T>;
}

/** Waits before a statement is sent again; in all shorter than clients notice. */
const RETRY_MS: readonly number[] = [20, 100, 400];

/** Sends statements over connections of the pool. */
export function createDatabase(pool: PostgresPool, defaultTimeoutMs: number): Database {
  const connect = async <T>(work: (send: Send) => Promise<T>, end: number): Promise<T> => {
    const client = await withDeadline(pool.connect(), msUntil(end), (late) => late.release());
    return await useClient(client, (send) => withDeadline(work(send), msUntil(end)));
  };
  return {
    connect: async (work) => await connect(work, performance.now() + defaultTimeoutMs),
    run: async (query, timeoutMs = defaultTimeoutMs) => {
      const end = performance.now() + timeoutMs;
      for (let attempt = 0; ; attempt++) {
        try {
          const make = typeof query === "function" ? query : () => query;
          return await connect((send) => send(make(msUntil(end))), end);
        } catch (error) {
          const waitMs = RETRY_MS[attempt];
          if (waitMs === undefined || !isTransient(error)) throw error;
          // Of random length, so that those who met do not meet again.
          await sleep(waitMs * (0.5 + Math.random()));
        }
      }
    },
  };
}

const msUntil = (end: number): number => Math.max(0, Math.ceil(end - performance.now()));

/** Gives the connection back, or closes it where the work failed: nobody knows what it is in the middle of. */
async function useClient<T>(client: PostgresClient, work: (send: Send) => Promise<T>): Promise<T> {
  client.on("error", ignoreLostConnection);
  let isSound = false;
  try {
    const result = await work((query) => sendOver(client, query));
    isSound = true;
    return result;
  } finally {
    client.removeListener("error", ignoreLostConnection);
    client.release(!isSound);
  }
}

const types = { getTypeParser: () => (text: string) => text };

async function sendOver(client: PostgresClient, { sql, values }: SqlQuery): Promise<readonly Row[]> {
  const { rows } = await client.query({ text: sql, values: [...values], types });
  return rows;
}
