import { toUnresolvedRecord } from "@calotype/core/stores";
import { Pool } from "pg";
import { expect, it, onTestFinished } from "vitest";
import {
  createPostgresLedger,
  type PostgresLedger,
  type PostgresLedgerOptions,
} from "./create-postgres-ledger.js";
import { createDatabase } from "./database.js";
import { migrate, migratePostgresLedger } from "./migrate.js";
import { BEFORE_MONTHS, MIGRATIONS } from "./migrations.js";
import type { PostgresPool } from "./pool.js";
import { prunePostgresLedger } from "./prune-postgres-ledger.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";
import { readAll } from "./testing/read-all.js";
import { recordStatements } from "./testing/record-statements.js";

/** The last millisecond of a month that no migration of today covers. */
const MONTH_END = "2031-03-31T23:59:59.999Z";
const NEXT_MONTH = "2031-04-01T00:00:00.001Z";

await describeWithPostgres("the months of the records", ({ url, pool, nameSchema }) => {
  const open = (
    schema: string,
    options: Partial<PostgresLedgerOptions> & { readonly at?: string } = {},
  ): { ledger: PostgresLedger; goTo: (time: string) => void } => {
    let now = Date.parse(options.at ?? MONTH_END);
    const { at: _, ...rest } = options;
    const ledger = createPostgresLedger({ pool, schema, now: () => now, ...rest });
    onTestFinished(async () => await ledger.close());
    return { ledger, goTo: (time) => void (now = Date.parse(time)) };
  };
  const query = async (schema: string, sql: string): Promise<Record<string, unknown>[]> =>
    (await pool.query<Record<string, unknown>>(sql.replaceAll("{schema}", `"${schema}"`))).rows;
  /** The records with the partitions that have them. */
  const listRows = async (schema: string): Promise<string[]> => {
    const rows = await query(
      schema,
      "SELECT c.relname || ' ' || r.id || ' ' || r.state AS name FROM {schema}.records r JOIN pg_class c ON c.oid = r.tableoid ORDER BY r.time, r.id",
    );
    return rows.map(({ name }) => String(name));
  };
  const listPartitions = async (schema: string): Promise<string[]> => {
    const rows = await query(
      schema,
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = '{schema}.records'::regclass ORDER BY 1`,
    );
    return rows.map(({ name }) => String(name)).filter((name) => !name.startsWith("records_until"));
  };
  const SWEEP = { onLost: "charge" } as const;

  /** The pool. The first statements that make a month find that another process has made it. */
  const failMonths = (failures: number): PostgresPool => {
    let left = failures;
    return recordStatements(pool, (sql) => {
      if (!sql.includes(".make_month(") || left === 0) return;
      left -= 1;
      throw Object.assign(new Error('relation "records_203103" already exists'), { code: "42P07" });
    });
  };

  it("are made although another process has just made one of them", async () => {
    const schema = nameSchema();
    await open(schema).ledger.ready();
    expect(await open(schema, { pool: failMonths(1) }).ledger.sweep(SWEEP)).toEqual([]);
    expect(await listPartitions(schema)).toHaveLength(4);
  });

  it("are found by a delivery that was planned before they were made", async () => {
    let missed = 0;
    const missing = recordStatements(
      pool,
      () => undefined,
      (sql, rows) => {
        if (!sql.includes(".lease_records(") || missed > 0) return;
        missed = rows.length;
        for (const row of rows) row["record"] = null;
      },
    );
    const { ledger } = open(nameSchema(), { pool: missing });
    await ledger.hold(holdOf({ id: "req_1", time: MONTH_END }));
    await ledger.settle(recordOf({ id: "req_1", time: MONTH_END }));
    expect((await ledger.takeUndelivered(9, 1000)).map(({ id }) => id)).toEqual(["req_1"]);
    expect(missed).toBe(1);
  });

  it("are not made if a table that is no month has their name, and the sweep says so", async () => {
    const schema = nameSchema();
    await open(schema).ledger.ready();
    const sweep = open(schema, { pool: failMonths(2) }).ledger.sweep(SWEEP);
    await expect(sweep).rejects.toThrow('relation "records_203103" already exists');
  });

  it("are made two months ahead by the sweep", async () => {
    const schema = nameSchema();
    const { ledger, goTo } = open(schema);
    await ledger.sweep(SWEEP);
    const first = ["records_203103", "records_203104", "records_203105", "records_rest"];
    expect(await listPartitions(schema)).toEqual(first);
    goTo(NEXT_MONTH);
    await open(schema, { at: NEXT_MONTH }).ledger.sweep(SWEEP);
    expect(await listPartitions(schema)).toEqual([...first.slice(0, 3), "records_203106", "records_rest"]);
  });

  it("have one row of a request that is settled twice across the end of a month", async () => {
    const schema = nameSchema();
    const { ledger, goTo } = open(schema);
    await ledger.sweep(SWEEP);
    await ledger.hold(holdOf({ id: "req_1", time: MONTH_END, amount: "0.5", budget: "1" }));
    goTo(NEXT_MONTH);
    const record = recordOf({ id: "req_1", time: MONTH_END, charge: "0.3" });
    await ledger.settle(record);
    await ledger.settle(record);
    // Another process of the fleet repeats it, and the statement of the hold arrives once more.
    const other = open(schema, { at: NEXT_MONTH }).ledger;
    await other.settle(record);
    await other.hold(holdOf({ id: "req_1", time: MONTH_END, amount: "0.5", budget: "1" }));
    await other.release("req_1");

    expect(await listRows(schema)).toEqual(["records_203103 req_1 settled"]);
    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    expect(await ledger.totals("day")).toMatchObject([{ key: "2031-03-31", requests: 1, charge: "0.3" }]);
  });

  it("have one row of a request that a sweep ended before the end of a month, and that is settled or released after it", async () => {
    const schema = nameSchema();
    const { ledger, goTo } = open(schema);
    await ledger.sweep(SWEEP);
    for (const id of ["req_1", "req_2"]) {
      await ledger.hold(holdOf({ id, time: MONTH_END, amount: "0.5", ttlMs: 0 }));
    }
    expect(await ledger.sweep(SWEEP)).toEqual(
      ["req_1", "req_2"].map((id) => toUnresolvedRecord(holdOf({ id, time: MONTH_END }), "charge")),
    );
    goTo(NEXT_MONTH);
    // The clock of the process that settles is another one, so the record is in the next month.
    expect(await ledger.settle(recordOf({ id: "req_1", time: NEXT_MONTH }))).toEqual({ isLate: true });
    await ledger.release("req_2");

    expect(await listRows(schema)).toEqual(["records_203103 req_2 released", "records_203104 req_1 settled"]);
    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    expect(await ledger.history.find("req_1")).toMatchObject({ state: "settled", late: true });
  });

  it("get the records that came before the month was made", async () => {
    const schema = nameSchema();
    const { ledger } = open(schema);
    await ledger.settle(recordOf({ id: "req_1", time: MONTH_END }));
    await ledger.settle(recordOf({ id: "req_far", time: "2099-01-01T00:00:00.000Z" }));
    expect(await listRows(schema)).toEqual(["records_rest req_1 settled", "records_rest req_far settled"]);
    await ledger.sweep(SWEEP);
    expect(await listRows(schema)).toEqual(["records_203103 req_1 settled", "records_rest req_far settled"]);
    await ledger.settle(recordOf({ id: "req_1", time: MONTH_END }));
    expect(await ledger.balance("me")).toEqual({ settled: "0.6", held: "0" });
  });

  it("are dropped when they are older than recordsMonths and all was delivered; totals and balances stay", async () => {
    const schema = nameSchema();
    const reader = open(schema);
    await reader.ledger.sweep(SWEEP);
    await reader.ledger.settle(recordOf({ id: "req_1", time: MONTH_END }));
    await reader.ledger.settle(recordOf({ id: "req_2", time: NEXT_MONTH }));
    const sweepAt = async (at: string): Promise<void> => {
      const { ledger } = open(schema, { at, retention: { recordsMonths: 1 } });
      await ledger.sweep(SWEEP);
    };
    await sweepAt("2031-04-30T23:59:59.999Z");
    expect(await listRows(schema)).toHaveLength(2);
    // Not delivered yet.
    await sweepAt("2031-05-01T00:00:00.000Z");
    expect(await listRows(schema)).toHaveLength(2);
    await reader.ledger.markDelivered(await reader.ledger.takeUndelivered(9, 0));
    await sweepAt("2031-05-01T00:00:00.000Z");

    expect(await listRows(schema)).toEqual(["records_203104 req_2 settled"]);
    expect(await listPartitions(schema)).not.toContain("records_203103");
    expect(await reader.ledger.balance("me")).toEqual({ settled: "0.6", held: "0" });
    const { total } = await reader.ledger.history.series({
      from: "2031-03-01T00:00:00Z",
      to: "2031-05-01T00:00:00Z",
    });
    expect(total.sums).toMatchObject({ requests: 2, charge: "0.6" });
  });

  it.each([0, 1.5, 1_201, Number.NaN])("are not kept for %s months", (recordsMonths) => {
    expect(() => createPostgresLedger({ pool, retention: { recordsMonths } })).toThrow(
      /^retention.recordsMonths must be a whole number from 1 to 1200/,
    );
  });

  it("are pruned like before", async () => {
    const schema = nameSchema();
    const { ledger } = open(schema);
    await ledger.sweep(SWEEP);
    await ledger.settle(recordOf({ id: "req_1", time: MONTH_END }));
    await ledger.settle(recordOf({ id: "req_2", time: NEXT_MONTH }));
    const before = "2031-04-01T00:00:00Z";
    expect(await prunePostgresLedger({ pool, schema, before })).toBe(0);
    expect(await prunePostgresLedger({ pool, schema, before, undelivered: true })).toBe(1);
    expect((await readAll(ledger)).map(({ id }) => id)).toEqual(["req_2"]);
  });

  it("take over the table of an older version without writing its rows again, while its processes go on", async () => {
    const schema = nameSchema();
    const steps = MIGRATIONS.slice(0, BEFORE_MONTHS);
    await migrate(createDatabase(pool, 10_000), { schema, steps, mayChange: true });
    await query(
      schema,
      `INSERT INTO {schema}.records (id, state, time, caller, model, channel, images, charge, record, outcome, duration_ms, tokens)
        SELECT 'req_' || n, 'settled', timestamptz '2026-01-01Z' + n * interval '1 minute', 'me', 'seedream', 'ark-1', 1, 0.3,
            replace('${JSON.stringify(recordOf({ id: "req_#" }))}', '#', n::text)::json, 'succeeded', 1500, 0
          FROM generate_series(1, 110000) AS n`,
    );
    const fileOf = async (table: string): Promise<unknown> =>
      (await query(schema, `SELECT pg_relation_filenode('{schema}.${table}'::regclass) AS file`))[0];
    const file = await fileOf("records");
    await expect(createPostgresLedger({ pool, schema }).ready()).rejects.toThrow(
      /more than 100,000 records.*run migratePostgresLedger first/,
    );

    // The statement of a process of the older version.
    const settleByOld = async (id: string): Promise<void> => {
      const record = JSON.stringify(recordOf({ id }));
      await pool.query(
        `SELECT * FROM "${schema}".settle_calls($1, $2, '{me}', '{seedream}', '{ark-1}', '{1}', '{0.3}', $3, NULL, '{succeeded}', '{1500}', '{0}')`,
        [[id], [Date.parse("2026-11-30T12:00:00Z")], [record]],
      );
    };
    const done = new AbortController();
    let settled = 0;
    const writing = (async () => {
      while (!done.signal.aborted) await settleByOld(`req_old_${settled++}`);
    })();
    await migratePostgresLedger({ pool, schema });
    done.abort();
    await writing;
    await settleByOld("req_old_after");
    await settleByOld("req_old_after");
    settled += 1;

    const [partition] = await query(
      schema,
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = '{schema}.records'::regclass AND c.relname LIKE 'records_until%'`,
    );
    expect(await fileOf(String(partition?.["name"]))).toEqual(file);
    expect(await query(schema, "SELECT count(*)::int AS count FROM {schema}.records")).toEqual([
      { count: 110_000 + settled },
    ]);
    const [invalid] = await query(
      schema,
      `SELECT count(*)::int AS count FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relnamespace = '{schema}'::regnamespace AND NOT i.indisvalid`,
    );
    expect(invalid).toEqual({ count: 0 });
    const ledger = createPostgresLedger({ pool, schema });
    onTestFinished(async () => await ledger.close());
    expect(await ledger.history.find("req_5")).toMatchObject({ id: "req_5" });
  });

  it("keeps a month to which a record is written while it is dropped", async () => {
    const schema = nameSchema();
    const { ledger } = open(schema);
    await ledger.sweep(SWEEP);
    const drop = (): Promise<unknown> => query(schema, `SELECT {schema}.drop_month('${NEXT_MONTH}') AS name`);
    // The empty partition of all earlier months.
    await drop();
    const client = await pool.connect();
    onTestFinished(() => client.release(true));
    const send = (sql: string): Promise<unknown> => client.query(sql.replaceAll("{schema}", `"${schema}"`));
    await send("BEGIN");
    await send(`INSERT INTO {schema}.records (id, state, time, caller, model, channel, images, charge, record, outcome)
      VALUES ('req_1', 'settled', '${MONTH_END}', 'a', 'm', 'c', 1, 1, '{}', 'succeeded')`);
    await send(`INSERT INTO {schema}.outbox_entries (record, state, record_time)
      VALUES ('req_1', 'settled', '${MONTH_END}')`);
    const dropping = drop();
    await expect
      .poll(
        () =>
          query(schema, "SELECT FROM pg_locks WHERE NOT granted AND relation = '{schema}.records'::regclass"),
        {
          interval: 20,
        },
      )
      .toHaveLength(1);
    await send("COMMIT");
    expect(await dropping).toEqual([{ name: null }]);
    expect(await listRows(schema)).toEqual(["records_203103 req_1 settled"]);
  });

  it("can be used, made and dropped by a user who may only read and write, also by a process that runs during the migration", async () => {
    const schema = nameSchema();
    const steps = MIGRATIONS.slice(0, BEFORE_MONTHS);
    await migrate(createDatabase(pool, 10_000), { schema, steps, mayChange: true });
    const user = `calotype_months_${process.pid}`;
    await pool.query(`CREATE ROLE ${user} LOGIN`);
    const own = new Pool({ connectionString: url, user });
    onTestFinished(async () => {
      await own.end();
      await pool.query(`DROP OWNED BY ${user}`);
      await pool.query(`DROP ROLE ${user}`);
    });
    await query(schema, `GRANT USAGE ON SCHEMA {schema} TO ${user}`);
    await query(schema, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO ${user}`);
    await migratePostgresLedger({ pool, schema });
    const { ledger } = open(schema, { pool: own, migrate: false, retention: { recordsMonths: 1 } });
    ledger.setReader("record", false);
    await ledger.sweep(SWEEP);
    await ledger.settle(recordOf({ id: "req_1", time: MONTH_END }));
    expect(await listRows(schema)).toEqual(["records_203103 req_1 settled"]);
    await query(schema, "DELETE FROM {schema}.outbox_entries");
    const later = open(schema, {
      pool: own,
      migrate: false,
      at: "2031-06-01T00:00:00Z",
      retention: { recordsMonths: 1 },
    });
    await later.ledger.sweep(SWEEP);
    expect(await listRows(schema)).toEqual([]);
  });
});
