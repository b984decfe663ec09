import { setTimeout as sleep } from "node:timers/promises";
import type { TotalsKey } from "@calotype/core/stores";
import { Pool } from "pg";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createPostgresLedger, type PostgresLedger } from "./create-postgres-ledger.js";
import { createDatabase, type SqlQuery } from "./database.js";
import { toListQuery } from "./history.js";
import { migratePostgresLedger } from "./migrate.js";
import { toPageQuery, toTotalsQuery } from "./reports.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";

const FROM = "2026-01-02T00:00:00Z";
const TO = "2026-01-02T06:00:00Z";
const CURSOR = { time: FROM, id: "req_1" };

await describeWithPostgres("with 20,000 records", ({ pool, nameSchema }) => {
  const name = nameSchema();
  const schema = `"${name}"`;

  beforeAll(async () => {
    await migratePostgresLedger({ pool, schema: name });
    // One record per minute for two weeks, of 100 callers, 20 models and 50 channels.
    await pool.query(`INSERT INTO ${schema}.records
      SELECT 'req_' || n, 'settled', timestamptz '2026-01-01Z' + n * interval '1 minute', 'caller-' || n * 7919 % 100,
        'model-' || n * 7907 % 20, 'channel-' || n * 7901 % 50, 1, 0.25, json_build_object('id', repeat('x', 500))
      FROM generate_series(1, 20000) AS n`);
    await pool.query(
      `INSERT INTO ${schema}.outbox (id, state) SELECT id, state FROM ${schema}.records LIMIT 5000`,
    );
    await pool.query(`VACUUM ANALYZE ${schema}.records, ${schema}.outbox`);
  });

  // With the default of the server, sums over two years of months took 3.8 s instead of 0.2 s.
  it("the statements of a report are not compiled, which would take longer than they run", async () => {
    const database = createDatabase(pool, 10_000);
    expect(await database.report({ sql: "SHOW jit", values: [] }, {})).toEqual([{ jit: "off" }]);
    expect(await database.run({ sql: "SHOW jit", values: [] })).toEqual([{ jit: "on" }]);
  });

  const planOf = async ({ sql, values }: SqlQuery): Promise<string> => {
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN (COSTS OFF) ${sql}`, [...values]);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };

  describe("a page of records is read from an index", () => {
    it.each([
      [{}, "records_by_time"],
      [{ from: FROM, to: TO }, "records_by_time"],
      [{ caller: "caller-7" }, "records_by_caller"],
      [{ caller: "caller-7", from: FROM, to: TO }, "records_by_caller"],
      [{ model: "model-7", to: TO }, "records_by_model"],
      [{ channel: "channel-7", from: FROM }, "records_by_channel"],
    ])("%j", async (filter, index) => {
      const plan = await planOf(toPageQuery(schema, { filter, size: 50, cursor: CURSOR }));
      // If a page contains nearly all records, PostgreSQL may sort it.
      expect(plan).toMatch(
        new RegExp(`Index Scan (?:using|on) ${index.replace("records", "records_until_\\d+")}`),
      );
      expect(plan).not.toContain("Seq Scan");
      expect(plan).toMatch(/Index Cond: .*ROW\("?time"?, id\) > ROW/);
    });
  });

  describe("totals of a period read only the index", () => {
    it.each<TotalsKey>(["caller", "model", "channel", "day"])("by %s", async (by) => {
      const plan = await planOf(toTotalsQuery(schema, by, { from: FROM, to: TO }));
      expect(plan).toMatch(/Index Only Scan using (records_until_\d+)_by_time on \1/);
      // No other month, and not what no month has.
      expect(plan).not.toContain("records_rest");
    });
  });

  describe("totals with a filter use an index", () => {
    it.each(["caller", "model", "channel"] as const)("by %s", async (by) => {
      const plan = await planOf(toTotalsQuery(schema, "day", { [by]: `${by}-7`, from: FROM, to: TO }));
      expect(plan).toMatch(/Index (?:Only )?Scan (?:using|on) records_until_\d+_by_/);
      expect(plan).not.toContain("Seq Scan");
    });
  });
});

await describeWithPostgres("reports", ({ url, pool, nameSchema }) => {
  const PERIOD = { from: FROM, to: "2026-01-03T00:00:00Z" };

  /** A ledger with few connections, and a lock of the totals, for which reports wait. */
  async function openLocked(application: string): Promise<{
    readonly ledger: PostgresLedger;
    readonly unlock: () => Promise<void>;
  }> {
    const own = new Pool({ connectionString: url, application_name: application, max: 4 });
    const schema = nameSchema();
    const ledger = createPostgresLedger({ pool: own, schema });
    await ledger.settle(recordOf({ id: "req_1", time: FROM }));
    const client = await pool.connect();
    await client.query(`BEGIN; LOCK TABLE "${schema}".hourly_totals IN ACCESS EXCLUSIVE MODE`);
    const unlock = async (): Promise<void> => {
      await client.query("ROLLBACK");
    };
    onTestFinished(async () => {
      client.release(true);
      await ledger.close();
      await own.end();
    });
    return { ledger, unlock };
  }

  /** How many sessions of an application wait for a lock. */
  async function countWaiting(application: string): Promise<number | null> {
    const { rowCount } = await pool.query(
      "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'",
      [application],
    );
    return rowCount;
  }

  it("leave connections to the requests, however many are waiting", async () => {
    const { ledger, unlock } = await openLocked("calotype-line");
    const reports = Promise.all(Array.from({ length: 12 }, () => ledger.history.series(PERIOD)));
    await sleep(300);
    for (const id of ["a", "b", "c"]) expect(await ledger.hold(holdOf({ id }))).toEqual({ ok: true });
    expect(await countWaiting("calotype-line")).toBe(2);
    await unlock();
    for (const { total } of await reports) expect(total.sums.requests).toBe(1);
  });

  it("of a caller's newest failures read the index of records without success, and sort nothing", async () => {
    const name = nameSchema();
    await migratePostgresLedger({ pool, schema: name });
    await pool.query(`INSERT INTO "${name}".records (id, state, time, caller, model, channel, images, charge, record, outcome)
      SELECT 'req_' || n, 'settled', timestamptz '2026-01-01Z' + n * interval '1 minute', 'caller-' || n % 4, 'm', 'c', 1, 0.25,
        '{}', CASE WHEN n % 11 = 3 THEN 'failed' ELSE 'succeeded' END FROM generate_series(1, 20000) AS n`);
    await pool.query(`VACUUM ANALYZE "${name}".records`);
    const query = {
      filter: { caller: "caller-1" },
      outcomes: ["failed"],
      sort: "time",
      isDescending: true,
      limit: 51,
      after: undefined,
    } as const;
    const { sql, values } = toListQuery(`"${name}"`, query, "id");
    const { rows } = await pool.query<{ "QUERY PLAN": string }>(`EXPLAIN (COSTS OFF) ${sql}`, [...values]);
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toMatch(/Index Scan Backward using records_until_\d+_without_success/);
    expect(plan).not.toMatch(/Bitmap|->  Sort$/m);
  });

  it("that are stopped end at once, also on the server", async () => {
    const { ledger, unlock } = await openLocked("calotype-stop");
    const stopping = new AbortController();
    const { signal } = stopping;
    const waiting = Array.from({ length: 5 }, () => ledger.history.series(PERIOD, { signal }));
    const stopped = Promise.allSettled(waiting);
    await sleep(300);
    const began = performance.now();
    stopping.abort();
    for (const result of await stopped) {
      expect(result).toMatchObject({ status: "rejected", reason: { name: "AbortError" } });
    }
    // Without the signal, they would wait for the lock for five seconds.
    while ((await countWaiting("calotype-stop")) !== 0) await sleep(50);
    expect(performance.now() - began).toBeLessThan(4_000);
    await unlock();
    expect((await ledger.history.series(PERIOD)).total.sums.requests).toBe(1);
  });

  it("that take too long reject with an error that says what to do", async () => {
    const database = createDatabase(pool, 300);
    await expect(database.report({ sql: "SELECT pg_sleep(10)", values: [] }, {})).rejects.toThrow(
      "the report took longer than 0.3 seconds: choose a shorter period",
    );
    const [row] = await database.report({ sql: "SELECT 'x' AS x", values: [] }, {});
    expect(row).toEqual({ x: "x" });
  });
});

it.each(["from", "to"] as const)("an invalid time is rejected by name: %s", (name) => {
  const filter = { [name]: "yesterday" };
  expect(() => toPageQuery("x", { filter, size: 500 })).toThrow(`${name} must be an ISO 8601 time`);
});
