import { EventEmitter } from "node:events";
import type { PostgresClient, PostgresPool, PostgresQuery } from "./pool.js";

/** A statement of postgres.js. */
interface PendingQuery<Result = unknown> extends PromiseLike<Result> {
  cancel(): unknown;
}

/** The rows of a statement, with the bytes of each column. */
interface RawResult extends ArrayLike<readonly (Uint8Array | null)[]> {
  readonly columns?: readonly { readonly name: string }[];
}

/** What sends statements: all connections, or one that is reserved. */
interface Sql {
  unsafe(
    text: string,
    values?: unknown[],
    options?: { prepare?: boolean },
  ): PendingQuery & {
    /** Returns each column as the bytes that PostgreSQL sends. */
    raw(): PendingQuery<RawResult>;
  };
  readonly typed: (value: string, oid: number) => unknown;
}

/** The part of [postgres.js](https://github.com/porsager/postgres) that the ledger uses: `const sql = postgres(url)`. */
export interface PostgresJs extends Sql {
  readonly options: { readonly max: number };
  reserve(): Promise<ReservedSql>;
  listen(
    channel: string,
    onNotify: (payload: string) => void,
    onListen?: () => void,
  ): Promise<{ unlisten(): Promise<unknown> }>;
}

interface ReservedSql extends Sql {
  release(): void;
}

/** What {@link createPostgresLedger} takes: a `Pool` of `pg` or of another package with its interface, or `sql` of postgres.js. */
export type AnyPostgresPool = PostgresPool | PostgresJs;

const pools = new WeakMap<PostgresJs, PostgresPool>();

/**
 * Returns the pool of an option.
 *
 * @throws TypeError if it is none
 */
export function toPool(pool: AnyPostgresPool): PostgresPool {
  if (isPool(pool)) return pool;
  if (typeof pool === "function") return poolOf(pool);
  throw new TypeError(
    "pool must be a Pool of pg, new Pool({ connectionString: process.env.DATABASE_URL }), or sql of postgres.js, postgres(process.env.DATABASE_URL).",
  );
}

/** False for what JavaScript may pass, too. */
function isPool(pool: Partial<PostgresPool> | undefined): pool is PostgresPool {
  return typeof pool?.connect === "function" && typeof pool.on === "function";
}

/** The same for each ledger on the same connections. */
function poolOf(sql: PostgresJs): PostgresPool {
  const known = pools.get(sql);
  if (known !== undefined) return known;
  const pool: PostgresPool = {
    options: { max: sql.options.max },
    connect: async () => new PostgresJsClient(sql),
    // postgres.js emits no events: a statement whose connection is lost rejects.
    on: () => pool,
    removeListener: () => pool,
  };
  pools.set(sql, pool);
  return pool;
}

/**
 * PostgreSQL finds the type of such a parameter from the statement. Without it postgres.js would ask for the types and then, for
 * example, encode a string for `jsonb` as JSON once more.
 */
const UNKNOWN_TYPE = 705;

/** A connection of postgres.js. It is reserved with the first statement. `LISTEN` uses the connection that postgres.js has for it. */
class PostgresJsClient extends EventEmitter implements PostgresClient {
  readonly #sql: PostgresJs;
  #connection: Promise<ReservedSql> | undefined;
  #running: PendingQuery | undefined;
  #unlisten: (() => Promise<unknown>) | undefined;

  constructor(sql: PostgresJs) {
    super();
    this.#sql = sql;
  }

  async query({ text, values }: PostgresQuery): ReturnType<PostgresClient["query"]> {
    const channel = /^LISTEN "(.*)"$/.exec(text)?.[1];
    if (channel !== undefined) return await this.#listen(channel);
    if (this.#unlisten !== undefined) return await this.#send(this.#sql, text, values);
    this.#connection ??= this.#sql.reserve();
    return await this.#send(await this.#connection, text, values);
  }

  release(destroy = false): void {
    this.#unlisten?.().catch(() => undefined);
    void this.#giveBack(destroy);
  }

  async #send(sql: Sql, text: string, values: readonly unknown[]): ReturnType<PostgresClient["query"]> {
    const toParameter = (value: unknown): unknown =>
      value === null || value === undefined ? null : sql.typed(toText(value), UNKNOWN_TYPE);
    const query =
      values.length === 0 ? sql.unsafe(text) : sql.unsafe(text, values.map(toParameter), { prepare: true });
    this.#running = query;
    try {
      return { rows: toRows(await query.raw()) };
    } finally {
      this.#running = undefined;
    }
  }

  async #listen(channel: string): ReturnType<PostgresClient["query"]> {
    let isListening = false;
    const listening = await this.#sql.listen(
      channel,
      (payload) => this.emit("notification", { payload }),
      () => {
        // postgres.js has connected again. Notifications may be missed, so this is the end of the connection for the ledger.
        if (isListening) this.emit("end");
        isListening = true;
      },
    );
    this.#unlisten = () => listening.unlisten();
    return { rows: [] };
  }

  /** Ends what the connection does if its state is unknown, because postgres.js cannot close a single connection. */
  async #giveBack(isUnknown: boolean): Promise<void> {
    try {
      const connection = await this.#connection;
      if (connection === undefined) return;
      try {
        if (isUnknown) {
          this.#running?.cancel();
          await connection.unsafe("ROLLBACK");
        }
      } finally {
        connection.release();
      }
    } catch {
      // The connection could not be reserved, or was lost: postgres.js opens another one.
    }
  }
}

/** A value as PostgreSQL reads it, in the same way as `pg` writes it. */
function toText(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(toItem).join(",")}}`;
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "bigint" ? String(value) : JSON.stringify(value);
}

function toItem(value: unknown): string {
  if (value === null || value === undefined) return "NULL";
  if (Array.isArray(value)) return toText(value);
  return `"${toText(value).replaceAll(/["\\]/g, "\\$&")}"`;
}

const decoder = new TextDecoder();

/** Returns the rows of a statement. Several statements have several results, and the ledger reads none of them. */
function toRows(rows: RawResult): Readonly<Record<string, unknown>>[] {
  const { columns } = rows;
  if (columns === undefined) return [];
  return Array.from(rows, (row) =>
    Object.fromEntries(
      columns.map(({ name }, index) => {
        const bytes = row[index];
        return [name, bytes ? decoder.decode(bytes) : null];
      }),
    ),
  );
}
