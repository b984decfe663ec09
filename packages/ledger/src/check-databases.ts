import { isAtMost, readDecimal } from "@calotype/core/stores";
import { type CheckDialect, type CheckResult, checkLedger } from "./check-ledger.js";
import type { PostgresAccess } from "./postgres-tables.js";
import type { SelectedRow } from "./sql.js";
import type { SqliteAccess } from "./sqlite-tables.js";

const SQLITE: CheckDialect = {
  table: (name) => name,
  hour: "time - time % 3600000",
  toMs: (column) => column,
  time: () => "?",
  text: () => "?",
  sum: (column, filter = "TRUE") =>
    `sum_decimals(${column}) FILTER (WHERE ${column} IS NOT NULL AND ${filter})`,
  isAbove: (one, other) => `is_above(${one}, ${other})`,
  zero: "'0'",
  holds: `(SELECT json_extract(hold, '$.caller') AS caller, json_extract(hold, '$.amount') AS amount,
      json_extract(hold, '$.periodKey') AS period
    FROM (SELECT hold FROM holds UNION ALL SELECT hold FROM tasks WHERE hold IS NOT NULL))`,
  isUndelivered: "EXISTS (SELECT 1 FROM outbox AS o WHERE o.kind = 'record' AND o.id = r.id)",
};

/** Checks a ledger in an SQLite file. */
export async function checkSqlite({ database }: SqliteAccess): Promise<CheckResult> {
  database.function("is_above", { deterministic: true }, (one, other) =>
    Number(!isAtMost(readDecimal(String(one)), readDecimal(String(other)))),
  );
  // All reads of a transaction see the same moment.
  database.exec("BEGIN");
  try {
    return await checkLedger(
      SQLITE,
      async (sql, values = []): Promise<SelectedRow[]> => database.prepare(sql).all(...values),
    );
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
  }
}

const createDialect = (schema: string): CheckDialect => ({
  table: (name) => `${schema}.${name}`,
  hour: "date_trunc('hour', time, 'UTC')",
  toMs: (column) => `${schema}.to_ms(${column})`,
  time: (position) => `to_timestamp($${position}::float8 / 1000)`,
  text: (position) => `$${position}::text`,
  sum: (column, filter = "TRUE") => `trim_scale(coalesce(sum(${column}) FILTER (WHERE ${filter}), 0))`,
  isAbove: (one, other) => `${one} > ${other}`,
  zero: "0",
  holds: `${schema}.holds`,
  isUndelivered: `EXISTS (SELECT FROM ${schema}.outbox_entries o WHERE o.record = r.id)`,
});

/** Checks a ledger in PostgreSQL. */
export async function checkPostgres({ database, schema }: PostgresAccess): Promise<CheckResult> {
  return await database.transact(async (send) => {
    await send({ sql: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", values: [] });
    return await checkLedger(createDialect(schema), async (sql, values = []): Promise<SelectedRow[]> => {
      const rows = await send({ sql, values });
      return rows.map((row) => row ?? {});
    });
  });
}
