import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, type Database, readNumber, readText, type Send } from "./database.js";
import { BEFORE_MONTHS, FUNCTION_SETTINGS, MIGRATIONS } from "./migrations.js";
import { guardPool } from "./pool.js";
import { codeOf } from "./postgres-error.js";
import { type AnyPostgresPool, toPool } from "./postgres-js.js";
import { needsPreparation, PREPARE_MS, prepareRecords } from "./prepare-records.js";
import { channelOf, quoteSchema } from "./schema-name.js";

/** A migration waits for transactions that use the tables: 5 seconds for each lock, and two minutes in total. */
const TIMEOUT_MS = 120_000;

/**
 * Creates the tables of a ledger, or updates them to the format of this version. A ledger does this by itself, so you
 * need this function only if the gateway's user may not create tables: call it during deployment as another user. It
 * may be called any number of times, also in parallel. Rejects with the reason if the schema cannot be used.
 *
 * @example
 * ```ts
 * import { migratePostgresLedger } from "@calotype/postgres";
 * import { Pool } from "pg";
 *
 * const pool = new Pool({ connectionString: process.env.ADMIN_DATABASE_URL });
 * await migratePostgresLedger({ pool });
 * await pool.end();
 * ```
 */
export async function migratePostgresLedger(options: {
  readonly pool: AnyPostgresPool;
  /** Default `"calotype"`. */
  readonly schema?: string | undefined;
}): Promise<void> {
  const { schema = "calotype" } = options;
  const pool = toPool(options.pool);
  const unguard = guardPool(pool);
  try {
    const patient = createDatabase(pool, PREPARE_MS);
    await migrate(createDatabase(pool, TIMEOUT_MS), { schema, mayChange: true, patient });
  } finally {
    unguard();
  }
}

/** Where the tables are, and whether this process may create and change them. */
export interface MigrateOptions {
  /** The name of the schema. */
  readonly schema: string;
  /** If false, a schema with missing steps is an error. */
  readonly mayChange: boolean;
  /** For statements that take long. Without it, a table that is so large that its step needs them is an error. */
  readonly patient?: Database | undefined;
  readonly steps?: readonly string[];
}

/** The oldest supported version of PostgreSQL. */
const OLDEST_SERVER = 13;

/**
 * Updates the schema to the newest format in one transaction. If several processes start at the same time, one of
 * them does it. Throws with the reason if the schema cannot be used.
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<void> {
  const { schema, steps = MIGRATIONS, mayChange } = options;
  try {
    const format = await database.transact(async (send) => {
      await assertServer(send);
      return await readFormat(send, options);
    });
    if (format === steps.length) return;
    if (!mayChange) {
      throw new Error(
        format === undefined
          ? "it does not exist, or has no tables of a ledger; check its name, or run migratePostgresLedger first"
          : "it lacks tables of this version of @calotype/postgres; start the gateway, or run migratePostgresLedger first",
      );
    }
    if (format !== undefined && format <= BEFORE_MONTHS && steps.length > BEFORE_MONTHS) {
      await beforeMonths(database, options);
    }
    await takeLast(database, { schema, steps });
  } catch (error) {
    throw new Error(`The ledger's schema "${schema}" cannot be used: ${explain(error)}`, { cause: error });
  }
}

/** Takes the steps before the records are divided into months, and prepares many records for that. */
async function beforeMonths(
  database: Database,
  { schema, steps = MIGRATIONS, patient }: MigrateOptions,
): Promise<void> {
  const quoted = quoteSchema(schema);
  if (!(await needsPreparation(database, quoted))) return;
  if (patient === undefined) {
    throw new Error(
      "it has more than 100,000 records, whose division into months takes minutes: run migratePostgresLedger first; processes of the older version go on meanwhile",
    );
  }
  await database.transact((send) => takeSteps(send, { schema, steps, end: BEFORE_MONTHS }));
  // The lock is held by a transaction of its own: what builds an index while others write cannot run in a transaction.
  await patient.transact(async (send) => {
    // Without values: a statement with values keeps its snapshot until the next one, and the index would wait for its end.
    await send({ sql: `SELECT pg_advisory_xact_lock(${lockKeyOf(`${schema} records`)})`, values: [] });
    if (await needsPreparation(database, quoted)) await prepareRecords(patient, quoted);
  });
}

/** How often, and how long after each time, the last steps are tried again if a report has locked a table for too long. */
const TRIES = 60;
const PAUSE_MS = 2_000;

/** Takes the steps that are left. */
async function takeLast(
  database: Database,
  { schema, steps }: { schema: string; steps: readonly string[] },
): Promise<void> {
  for (let left = TRIES; ; left--) {
    try {
      await database.transact((send) => takeSteps(send, { schema, steps, end: steps.length }));
      return;
    } catch (error) {
      if (codeOf(error) !== "55P03" || left === 0) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Takes the steps up to a number. */
async function takeSteps(
  send: Send,
  { schema, steps, end }: { schema: string; steps: readonly string[]; end: number },
): Promise<void> {
  const quoted = quoteSchema(schema);
  await send({ sql: "SELECT pg_advisory_xact_lock($1)", values: [lockKeyOf(schema)] });
  // Read it again under the lock: another process may have been faster.
  const format = await readFormat(send, { schema, steps });
  if (format !== undefined && format >= end) return;
  if (format === undefined) await createFormat(send, schema);
  for (const step of steps.slice(format ?? 0, end)) await send({ sql: writeStep(step, schema), values: [] });
  await send({ sql: `UPDATE ${quoted}.format SET version = $1`, values: [end] });
}

/** The SQL of a step for a schema. */
export const writeStep = (step: string, schema: string): string =>
  step
    .replaceAll("{settings}", FUNCTION_SETTINGS)
    .replaceAll("{channel}", channelOf(schema))
    .replaceAll("{schema}", quoteSchema(schema));

async function createFormat(send: Send, schema: string): Promise<void> {
  const quoted = quoteSchema(schema);
  const known = await send({ sql: "SELECT FROM pg_namespace WHERE nspname = $1", values: [schema] });
  // Not CREATE SCHEMA IF NOT EXISTS, which needs the permission to create schemas even if the schema exists.
  if (known.length === 0) await send({ sql: `CREATE SCHEMA ${quoted}`, values: [] });
  await send({ sql: `CREATE TABLE ${quoted}.format (version integer NOT NULL)`, values: [] });
  await send({ sql: `INSERT INTO ${quoted}.format VALUES (0)`, values: [] });
}

/**
 * Returns the number of steps that the schema has had; `undefined` if the ledger has no tables yet. Throws if the
 * schema is of a newer version.
 */
export async function readFormat(
  send: Send,
  { schema, steps = MIGRATIONS }: Pick<MigrateOptions, "schema" | "steps">,
): Promise<number | undefined> {
  const quoted = quoteSchema(schema);
  // Not to_regclass, which may use what this connection cached before it waited for the lock.
  const found = await send({
    sql: `SELECT FROM pg_class WHERE relname = 'format'
      AND relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`,
    values: [schema],
  });
  if (found.length === 0) return undefined;
  const [row] = await send({ sql: `SELECT version FROM ${quoted}.format`, values: [] });
  const version = readNumber(row, "version");
  if (version > steps.length) {
    throw new Error(
      `it was written by a newer version of @calotype/postgres (its format is ${version}, this one knows ${steps.length}); update the package`,
    );
  }
  return version;
}

async function assertServer(send: Send): Promise<void> {
  const [row] = await send({
    sql: `SELECT current_setting('server_version_num')::integer / 10000 AS version,
      current_setting('server_encoding') AS encoding`,
    values: [],
  });
  if (readNumber(row, "version") < OLDEST_SERVER) {
    throw new Error(`PostgreSQL must be version ${OLDEST_SERVER} or newer, not ${readText(row, "version")}`);
  }
  if (readText(row, "encoding") !== "UTF8") {
    throw new Error(`the database's encoding must be UTF8, not ${readText(row, "encoding")}`);
  }
}

/** If Node could not connect to any of several addresses, its error has a code and no message. */
function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message === "" ? codeOf(error) : message;
}

/** An advisory lock is identified by a number, which all programs of a database share. */
export function lockKeyOf(schema: string): string {
  return createHash("sha256").update(`@calotype/postgres ${schema}`).digest().readBigInt64BE().toString();
}
