import type { TotalsKey } from "@calotype/core/stores";
import { beforeAll, describe, expect, it } from "vitest";
import type { SqlQuery } from "./database.js";
import { migratePostgresLedger } from "./migrate.js";
import { toPageQuery, toTotalsQuery } from "./reports.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";

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
      expect(plan).toMatch(new RegExp(`Index Scan (?:using|on) ${index}`));
      expect(plan).not.toContain("Seq Scan");
      expect(plan).toMatch(/Index Cond: .*ROW\("?time"?, id\) > ROW/);
    });
  });

  describe("totals of a period read only the index", () => {
    it.each<TotalsKey>(["caller", "model", "channel", "day"])("by %s", async (by) => {
      expect(await planOf(toTotalsQuery(schema, by, { from: FROM, to: TO }))).toContain(
        "Index Only Scan using records_by_time on records",
      );
    });
  });

  describe("totals with a filter use an index", () => {
    it.each(["caller", "model", "channel"] as const)("by %s", async (by) => {
      const plan = await planOf(toTotalsQuery(schema, "day", { [by]: `${by}-7`, from: FROM, to: TO }));
      expect(plan).toMatch(/Index (?:Only )?Scan (?:using|on) records_by_/);
      expect(plan).not.toContain("Seq Scan");
    });
  });
});

it.each(["from", "to"] as const)("an invalid time is rejected by name: %s", (name) => {
  const filter = { [name]: "yesterday" };
  expect(() => toPageQuery("x", { filter, size: 500 })).toThrow(`${name} must be an ISO 8601 time`);
});
