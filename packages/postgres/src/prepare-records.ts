import { type Database, readText } from "./database.js";
import { literal, writeKey } from "./sql/monthly-records.js";

/** More records are prepared before their step, which would otherwise lock them for seconds. */
const FEW = 100_000;

/** How long the preparation of a large table may take. */
export const PREPARE_MS = 12 * 3_600_000;

/** Whether the table of the records must be prepared before it becomes a partition. */
export async function needsPreparation(database: Database, schema: string): Promise<boolean> {
  const rows = await database.run({
    sql: `SELECT relkind FROM pg_class WHERE oid = to_regclass($1)`,
    values: [`${schema}.records`],
  });
  if (rows.length === 0 || readText(rows[0], "relkind") !== "r") return false;
  const found = await database.run({
    sql: `SELECT FROM ${schema}.records ORDER BY time OFFSET ${FEW} LIMIT 1`,
    values: [],
  });
  return found.length > 0;
}

/**
 * Builds the key of the records and checks that they all are before the months to come, while processes read and write them. So the
 * step itself needs no time. If it was interrupted before, it begins again.
 *
 * @param database with enough time for statements that read the whole table
 */
export async function prepareRecords(database: Database, schema: string): Promise<void> {
  const send = async (sql: string): ReturnType<Database["call"]> =>
    await database.call(() => ({ sql: sql.replaceAll("{schema}", schema), values: [] }));

  const [index] = await send(
    `SELECT i.indisvalid AS valid FROM pg_index i WHERE i.indexrelid = to_regclass(${literal("{schema}.records_key")})`,
  );
  const isValid = index === undefined ? undefined : readText(index, "valid") === "t";
  if (isValid === false) await send("DROP INDEX CONCURRENTLY {schema}.records_key");
  if (isValid !== true) await send(writeKey("records", "CONCURRENTLY"));

  const [known] = await send(
    `SELECT conname AS name FROM pg_constraint
      WHERE conrelid = to_regclass(${literal("{schema}.records")}) AND conname LIKE 'records\\_until\\_%'`,
  );
  const name = known === undefined ? await addCheck(send) : readText(known, "name");
  await send(`ALTER TABLE {schema}.records VALIDATE CONSTRAINT ${name}`);
}

/**
 * The table keeps the records up to the end of the next month. New ones are checked from now on, so the end must not come before the
 * step is done.
 */
async function addCheck(send: (sql: string) => ReturnType<Database["call"]>): Promise<string> {
  const [row] = await send(
    `SELECT to_char(greatest(date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC'),
        date_trunc('month', max(time) AT TIME ZONE 'UTC')) + interval '2 months', 'YYYYMMDD') AS ending FROM {schema}.records`,
  );
  const ending = readText(row, "ending");
  const name = `records_until_${ending}`;
  await send(
    `ALTER TABLE {schema}.records ADD CONSTRAINT ${name}
      CHECK (time < '${ending.slice(0, 4)}-${ending.slice(4, 6)}-01 00:00:00+00') NOT VALID`,
  );
  return name;
}
