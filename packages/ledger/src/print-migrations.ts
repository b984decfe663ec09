import { DatabaseSync } from "node:sqlite";
import {
  type Database,
  MIGRATIONS as POSTGRES_STEPS,
  quoteSchema,
  readFormat,
  writeStep,
} from "@calotype/postgres/internal";
import { MIGRATIONS as SQLITE_STEPS, writeFormat } from "@calotype/sqlite/internal";

/**
 * The SQL of the steps of an SQLite file after those that it has had.
 *
 * @param format the number of steps that it has had
 */
export function printSqliteMigrations(format: number): string {
  return SQLITE_STEPS.slice(format)
    .map((step, at) => {
      const number = format + at + 1;
      return `-- Step ${number} of ${SQLITE_STEPS.length}\nBEGIN IMMEDIATE;\n${step.trim()}\n${writeFormat(number)}\nCOMMIT;\n`;
    })
    .join("\n");
}

/**
 * The SQL of the steps of a PostgreSQL schema after those that it has had.
 *
 * @param format the number of steps that it has had. `undefined`: the schema has no tables
 */
export function printPostgresMigrations(schema: string, format: number | undefined): string {
  const quoted = quoteSchema(schema);
  const create = `BEGIN;
CREATE SCHEMA IF NOT EXISTS ${quoted};
CREATE TABLE ${quoted}.format (version integer NOT NULL);
INSERT INTO ${quoted}.format VALUES (0);
COMMIT;
`;
  const steps = POSTGRES_STEPS.slice(format ?? 0).map((step, at) => {
    const number = (format ?? 0) + at + 1;
    return `-- Step ${number} of ${POSTGRES_STEPS.length}\nBEGIN;\n${writeStep(step, schema).trim()}\nUPDATE ${quoted}.format SET version = ${number};\nCOMMIT;\n`;
  });
  return [...(format === undefined ? [create] : []), ...steps].join("\n");
}

/** The number of steps that a file has had. Changes nothing. */
export function readSqliteFormat(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
  } finally {
    database.close();
  }
}

/** The number of steps that a schema has had; `undefined` if it has no tables. Changes nothing. */
export async function readPostgresFormat(database: Database, schema: string): Promise<number | undefined> {
  return await database.transact(async (send) => await readFormat(send, { schema }));
}
