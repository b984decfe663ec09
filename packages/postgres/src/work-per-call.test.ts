import { Pool } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresLedger, type PostgresLedger } from "./create-postgres-ledger.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";
import { recordStatements } from "./testing/record-statements.js";

/** More rows than any call of this file should read. */
const MANY = 60_000;

await describeWithPostgres("the work of a call that is made alone", ({ url, nameSchema }) => {
  /** A ledger whose calls all use the same connection. */
  const openOnOneConnection = async (): Promise<{ ledger: PostgresLedger; pool: Pool; schema: string }> => {
    const schema = nameSchema();
    const pool = new Pool({ connectionString: url, max: 1, options: "-c synchronous_commit=off" });
    const ledger = createPostgresLedger({ pool, schema });
    onTestFinished(async () => {
      await ledger.close();
      await pool.end();
    });
    await ledger.ready();
    return { ledger, pool, schema };
  };

  it("is one statement for each hold, settlement and release", async () => {
    const { pool, schema } = await openOnOneConnection();
    const statements: string[] = [];
    const ledger = createPostgresLedger({
      pool: recordStatements(pool, (sql) => void statements.push(sql)),
      schema,
    });
    onTestFinished(async () => await ledger.close());
    // The first write also says what this process delivers.
    await ledger.release("req_0");
    const sentBy = async (call: () => Promise<unknown>): Promise<string[]> => {
      statements.length = 0;
      await call();
      return statements.map((sql) => /\.(\w+)\(/.exec(sql)?.[1] ?? sql);
    };

    expect(await sentBy(() => ledger.hold(holdOf({ id: "req_1" })))).toEqual(["make_holds"]);
    expect(await sentBy(() => ledger.settle(recordOf({ id: "req_1" })))).toEqual(["settle_calls"]);
    const daily = { budget: "1", period: { unit: "day", timeZone: "Asia/Tokyo" } } as const;
    expect(await sentBy(() => ledger.hold(holdOf({ id: "req_3", ...daily })))).toEqual(["make_holds"]);
    expect(await sentBy(() => ledger.settle(recordOf({ id: "req_3" })))).toEqual(["settle_calls"]);
    expect(await sentBy(() => ledger.hold(holdOf({ id: "req_2" })))).toEqual(["make_holds"]);
    expect(await sentBy(() => ledger.release("req_2"))).toEqual(["release"]);
  });

  it.each([
    { title: "no hold was open", open: 0 },
    { title: "one hold was open", open: 1 },
    { title: "there was one record", open: 0, isSingle: true },
  ])("does not grow with tables that were last analyzed when $title", async ({ open, isSingle }) => {
    const { ledger, pool, schema } = await openOnOneConnection();
    // Makes the months.
    await ledger.sweep({ onLost: "charge" });
    if (isSingle) await ledger.settle(recordOf({ id: "req_first", time: new Date().toISOString() }));
    else await holdAndSettle(ledger, "req_first");
    if (open > 0) await ledger.hold(holdOf({ id: "req_open" }));
    for (const table of [
      "balances",
      "holds",
      "records",
      "outbox_entries",
      "period_balances",
      "hourly_totals",
    ]) {
      await pool.query(`ANALYZE "${schema}".${table}`);
    }
    // After some calls a session may keep its plans.
    for (let round = 0; round < 10; round++) {
      await holdAndSettle(ledger, `req_warm_${round}`);
      await deliver(ledger);
    }
    await addMany(pool, schema);

    await pool.query("BEGIN");
    const before = await countReads(pool, schema);
    await holdAndSettle(ledger, "req_last");
    await ledger.hold(holdOf({ id: "req_released" }));
    await ledger.release("req_released");
    // A delivery would commit the transaction.
    const leased = await pool.query(`SELECT record FROM "${schema}".lease_records(1, 60000, 0, NULL)`);
    expect(leased.rows).toEqual([{ record: expect.anything() }]);
    const after = await countReads(pool, schema);
    await pool.query("COMMIT");

    const read = after.rows - before.rows;
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(150);
    // About 270, and 380 beside other tests. A plan that reads an index of all records: more than a thousand.
    expect(after.pages - before.pages).toBeLessThan(700);
  });
});

/** One with a budget over all time, and one with a budget a day. */
async function holdAndSettle(ledger: PostgresLedger, id: string): Promise<void> {
  // The records of addMany are in the same month.
  const time = new Date().toISOString();
  await ledger.hold(holdOf({ id, time, budget: "1000000" }));
  await ledger.settle(recordOf({ id, time }));
  const daily = { budget: "1", period: { unit: "day", timeZone: "Asia/Tokyo" } } as const;
  await ledger.hold(holdOf({ id: `${id}_daily`, time, amount: "0.001", ...daily }));
  await ledger.settle(recordOf({ id: `${id}_daily`, time, charge: "0.001" }));
}

async function deliver(ledger: PostgresLedger): Promise<void> {
  const records = await ledger.takeUndelivered(1, 60_000);
  expect(records).toHaveLength(1);
  await ledger.markDelivered(records);
}

/** Adds callers, open holds and records that the statistics of the tables do not know. */
async function addMany(pool: Pool, schema: string): Promise<void> {
  const numbers = `generate_series(1, ${MANY}) AS n`;
  await pool.query(`INSERT INTO "${schema}".balances (caller) SELECT 'caller_' || n FROM ${numbers}`);
  await pool.query(
    `INSERT INTO "${schema}".period_balances (caller, period) SELECT 'me', '2000-01-01 day ' || n FROM ${numbers}`,
  );
  await pool.query(
    `INSERT INTO "${schema}".holds (id, owner, expires_at, caller, amount, hold)
      SELECT 'hold_' || n, gen_random_uuid(), now() + interval '1 day', 'caller_' || n, 0, '{}' FROM ${numbers}`,
  );
  await pool.query(
    `INSERT INTO "${schema}".records (id, state, time, caller, model, channel, images, charge, record, outcome)
      SELECT 'record_' || n, 'settled', now(), 'caller_' || n, 'seedream', 'ark-1', 1, 0, '{}', 'failed' FROM ${numbers}`,
  );
  const { rows } = await pool.query<{ name: string }>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = '"${schema}".hourly_totals'::regclass AND attnum > 4`,
  );
  await pool.query(
    `INSERT INTO "${schema}".hourly_totals SELECT date_trunc('hour', now()), 'me', 'model_' || n, 'ark-1'
      ${", 0".repeat(rows.length)} FROM ${numbers}`,
  );
}

/** The rows, index entries and pages that the transaction has read so far. Entries that a search skips count with their pages only. */
async function countReads(pool: Pool, schema: string): Promise<{ rows: number; pages: number }> {
  const { rows } = await pool.query<Record<"rows" | "pages", string>>(
    `SELECT sum(pg_stat_get_xact_tuples_returned(oid)) AS rows, sum(pg_stat_get_xact_blocks_fetched(oid)) AS pages
      FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`,
    [schema],
  );
  return { rows: Number(rows[0]?.rows), pages: Number(rows[0]?.pages) };
}
