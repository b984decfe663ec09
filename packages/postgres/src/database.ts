import { setTimeout as sleep } from "node:timers/promises";
import { assertWanted, type ReportOptions } from "@calotype/core/stores";
import { guardClient, type PostgresClient, type PostgresPool } from "./pool.js";
import { isTransient } from "./postgres-error.js";
import { withDeadline } from "./with-deadline.js";

/** A statement with the values of its `$1`, `$2`, …. */
export interface SqlQuery {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** Sends one statement and returns its rows. */
export type Send = (query: SqlQuery) => Promise<readonly Row[]>;

/** One try at a statement. */
interface Attempt {
  /** 0 for the first try. */
  readonly number: number;
  /** Milliseconds until the call gives up. */
  readonly msLeft: number;
}

/**
 * The database behind a pool. A call may send its statements twice if the outcome of the first time is unknown. It
 * rejects at its deadline. The server also ends the statements by then, so that no session is left behind.
 */
export interface Database {
  /** Runs one statement in a transaction with time limits. */
  run(query: SqlQuery): Promise<readonly Row[]>;
  /**
   * The same for a statement that may read very many rows. At most {@link MAX_REPORTS} run at a time, so that they do not take
   * all connections from the requests; the others wait, and their time limit begins after that.
   *
   * @throws DOMException named `AbortError` if the report was stopped. Its connection is closed, so that the server stops too.
   * @throws RangeError if it takes too long
   */
  report(query: SqlQuery, options: ReportOptions, timeoutMs?: number): Promise<readonly Row[]>;
  /**
   * Calls a function of the schema that sets its own time limits (`FUNCTION_SETTINGS`). This saves the round trips of
   * a transaction.
   */
  call(toQuery: (attempt: Attempt) => SqlQuery): Promise<readonly Row[]>;
  /** Runs several statements in one transaction with time limits, and does not repeat it. */
  transact<T>(work: (send: Send) => Promise<T>): Promise<T>;
}

/** The waits before a statement is sent again. Their sum is too short for clients to notice. */
const RETRY_MS: readonly number[] = [20, 100, 400];

/** The longest wait for one lock. `FUNCTION_SETTINGS` says the same. */
const LOCK_TIMEOUT_MS = 5000;

/** The time limit of reports that read every record or total that they count. */
export const SUMS_TIMEOUT_MS = 300_000;
/** How many reports of a ledger run at a time. One if the pool has fewer than four connections. */
const MAX_REPORTS = 2;

/** Sends statements over connections of the pool. */
export function createDatabase(pool: PostgresPool, defaultTimeoutMs: number): Database {
  const inLine = createLine((pool.options?.max ?? 10) < 4 ? 1 : MAX_REPORTS);
  const connect = async <T>(work: (send: Send) => Promise<T>, end: number): Promise<T> => {
    const client = await withDeadline(pool.connect(), msUntil(end), (late) => late.release());
    return await useClient(client, (send) => withDeadline(work(send), msUntil(end)));
  };
  const repeat = async <T>(work: (send: Send, attempt: Attempt) => Promise<T>, end: number): Promise<T> => {
    for (let number = 0; ; number++) {
      try {
        return await connect((send) => work(send, { number, msLeft: msUntil(end) }), end);
      } catch (error) {
        const waitMs = RETRY_MS[number];
        if (waitMs === undefined || !isTransient(error)) throw error;
        // Of random length, so that transactions that collided do not collide again.
        await sleep(waitMs * (0.5 + Math.random()));
      }
    }
  };
  return {
    run: async (query) =>
      await repeat(
        (send, { msLeft }) => transact(send, msLeft, () => send(query)),
        performance.now() + defaultTimeoutMs,
      ),
    report: async (query, options, timeoutMs = defaultTimeoutMs) =>
      await inLine(async () => {
        assertWanted(options);
        const end = performance.now() + timeoutMs;
        try {
          return await repeat(
            (send, { msLeft }) =>
              untilStopped(
                transact(send, msLeft, () => send(query), REPORT_SETTINGS),
                options,
              ),
            end,
          );
        } catch (cause) {
          // The limit of the server may be over a little earlier.
          if (msUntil(end) > 100) throw cause;
          const seconds = timeoutMs / 1000;
          throw new RangeError(`the report took longer than ${seconds} seconds: choose a shorter period`, {
            cause,
          });
        }
      }),
    call: async (toQuery) =>
      await repeat((send, attempt) => send(toQuery(attempt)), performance.now() + defaultTimeoutMs),
    transact: async (work) => {
      const end = performance.now() + defaultTimeoutMs;
      return await connect((send) => transact(send, msUntil(end), () => work(send)), end);
    },
  };
}

/** Runs at most `max` works at a time, the others in their order when one has ended. */
function createLine(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running < max) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The next one takes this place.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

/**
 * The settings of reports. Without `jit = off`, a server that compiles statements takes seconds for the sums of many months, because it
 * compiles each month, even if the statement then reads only a few records of one of them.
 *
 * From PostgreSQL 14 on, and not on Windows, the server notices within a second that a connection was closed. Elsewhere it runs
 * the statement to its end.
 */
const REPORT_SETTINGS = `;
      SET LOCAL jit = off;
      DO $$ BEGIN
        PERFORM set_config('client_connection_check_interval', '1000', true);
      EXCEPTION WHEN OTHERS THEN NULL;
      END $$`;

/** Rejects as soon as the report is stopped. The connection is then closed, see {@link useClient}. */
async function untilStopped<T>(work: Promise<T>, options: ReportOptions): Promise<T> {
  const { signal } = options;
  if (signal?.addEventListener === undefined) return await work;
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const stop = (): void => {
    try {
      assertWanted(options);
    } catch (error) {
      reject(error);
    }
  };
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener?.("abort", stop);
    // The connection is closed under it.
    work.catch(() => undefined);
  }
}

const msUntil = (end: number): number => Math.max(0, Math.ceil(end - performance.now()));

/** If the work fails, the connection is closed and the transaction with it. */
async function transact<T>(send: Send, msLeft: number, work: () => Promise<T>, settings = ""): Promise<T> {
  // 0 would mean no limit. The last setting releases the locks of a process that stops during a transaction.
  const limitMs = Math.max(1, msLeft);
  await send({
    sql: `BEGIN ISOLATION LEVEL READ COMMITTED;
      SET LOCAL lock_timeout = ${Math.min(LOCK_TIMEOUT_MS, limitMs)};
      SET LOCAL statement_timeout = ${limitMs};
      SET LOCAL idle_in_transaction_session_timeout = ${limitMs}${settings}`,
    values: [],
  });
  const result = await work();
  await send({ sql: "COMMIT", values: [] });
  return result;
}

/** Returns the connection to the pool, or closes it if the work failed: its state is then unknown. */
async function useClient<T>(client: PostgresClient, work: (send: Send) => Promise<T>): Promise<T> {
  guardClient(client);
  let isSound = false;
  try {
    const result = await work((query) => sendOver(client, query));
    isSound = true;
    return result;
  } finally {
    client.release(!isSound);
  }
}

const types = { getTypeParser: () => (text: string) => text };

async function sendOver(client: PostgresClient, { sql, values }: SqlQuery): Promise<readonly Row[]> {
  const { rows } = await client.query({ text: sql, values: [...values], types });
  return rows;
}

/**
 * The current time in SQL, from a parameter in milliseconds since 1970, or `null` for the clock of the database.
 * Clocks of several machines differ, and one that is ahead would shorten the leases of the others.
 */
export const toClock = (parameter: string): string =>
  `coalesce(to_timestamp(${parameter}::float8 / 1000), clock_timestamp())`;

/** A row with every column as a string, or `undefined` if there is no row. */
export type Row = Readonly<Record<string, unknown>> | undefined;

/** Returns the string in a column that is never null. */
export function readText(row: Row, column: string): string {
  const value = row?.[column];
  if (typeof value !== "string") {
    throw new TypeError(`The ledger's tables are not as they should be: ${column} is ${typeof value}.`);
  }
  return value;
}

/** Returns the string in a column, or `null`. */
export function readTextOrNull(row: Row, column: string): string | null {
  return row?.[column] === null ? null : readText(row, column);
}

/** Returns the number in a column that is never null. */
export function readNumber(row: Row, column: string): number {
  return Number(readText(row, column));
}
