import { createGateway, createMemoryLedger, type Gateway } from "@calotype/core";
import type { ReportSource, TotalsKey, UsageRecord } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordOf } from "../ledger-suite/entries.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { readText } from "../support/workspace.js";
import { loadRecipe } from "./load-recipe.js";

/* Runs the code of docs/report-sources.md, and compares its reports with those of a ledger. */

const ANALYTICS = `calotype_test_analytics_${process.pid}`;
const PAGE = "docs/report-sources.md";
const [CREATE = ""] = /```sql\n([^]*?)```/.exec(readText(PAGE))?.slice(1) ?? [];

interface Recipe {
  storeRecords(pool: Pool, records: readonly UsageRecord[]): Promise<void>;
  createReportSource(pool: Pool): ReportSource;
}

const SETUP = {
  models: { doodle: { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "ark-key" }],
  callers: [{ id: "a", key: "caller-key" }],
};
const START = Date.parse("2026-11-02T22:30:00Z");
const PERIOD = { from: "2026-11-02T23:15:00Z", to: "2026-11-05T07:00:00Z" };

/** 200 records of all kinds, about one in 20 minutes. */
async function writeRecords(ledger: ReturnType<typeof createMemoryLedger>): Promise<void> {
  for (let at = 0; at < 200; at++) {
    const facts = {
      id: `req_${(at * 37) % 200}`,
      time: new Date(START + at * 1_234_567).toISOString(),
      caller: `c${at % 3}`,
      model: `m${at % 4}`,
    };
    if (at % 11 === 0) {
      await ledger.hold({ ...facts, group: "default", operation: "generate", amount: "0.5", ttlMs: 0 });
      await ledger.sweep({ onLost: "charge" });
      continue;
    }
    await ledger.settle(
      recordOf({
        ...facts,
        channel: `channel-${at % 2}`,
        images: at % 5,
        charge: at % 13 === 0 ? null : `0.${(at * 7919) % 1000}1`,
        status: at % 7 === 0 ? 429 : at % 9 === 0 ? 502 : 200,
        durationMs: (at * 611) % 40_000,
        ...(at % 4 === 0 && { endUser: `user-${at % 5}` }),
        ...(at % 3 === 0 && { tags: { team: `t${at % 2}` } }),
      }),
    );
  }
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

await describeWithService(POSTGRES, (url) => {
  const { pool: admin, schema } = useTestSchema(url);
  const openPool = (options: string): Pool => new Pool({ connectionString: url, options, max: 4 });

  describe("reports from an analytics database", () => {
    const analytics = openPool(`-c search_path=${ANALYTICS}`);
    const ledger = createMemoryLedger();
    let recipe: Recipe;
    let gateway: Gateway;

    beforeAll(async () => {
      recipe = (await loadRecipe(PAGE, "analytics.ts")) as Recipe;
      await admin.query(`CREATE SCHEMA ${ANALYTICS}`);
      await analytics.query(CREATE);
      await writeRecords(ledger);
      gateway = createGateway({
        ...SETUP,
        ledger,
        onUsageBatch: async (records) => await recipe.storeRecords(analytics, records),
        reports: recipe.createReportSource(analytics),
      });
      // The records are delivered in batches, one second later.
      await gateway.close();
    });
    afterAll(async () => {
      await analytics.query(`DROP SCHEMA IF EXISTS ${ANALYTICS} CASCADE`);
      await analytics.end();
    });

    it.each<TotalsKey>(["caller", "model", "channel", "day", "period", "endUser", "tag:team"])(
      "totals by %s are those of the ledger",
      async (by) => {
        for (const filter of [{}, PERIOD, { ...PERIOD, caller: "c1" }, { tag: { key: "team", value: "" } }]) {
          expect(await gateway.usage.totals(by, filter)).toEqual(await ledger.totals(by, filter));
        }
      },
    );

    it.each(["caller", "model", "channel", "endUser", "tag:team", undefined] as const)(
      "usage over time by %s is that of the ledger",
      async (by) => {
        const query = { ...PERIOD, bucket: "day", timeZone: "Asia/Kolkata", by, limit: 2 } as const;
        const series = await gateway.usage.series(query);
        expect(series.total.sums.requests).toBeGreaterThan(100);
        expect(series).toEqual(await ledger.history?.series(query));
      },
    );

    it.each(["time", "charge", "duration"] as const)(
      "pages sorted by %s are those of the ledger",
      async (sort) => {
        for (const order of ["ascending", "descending"] as const) {
          const query = { ...PERIOD, sort, order, limit: 30 };
          let cursor: string | undefined;
          let pages = 0;
          do {
            const page = await gateway.usage.page({ ...query, cursor });
            expect(page).toEqual(await ledger.history?.page({ ...query, cursor }));
            cursor = page.next;
            pages += 1;
          } while (cursor !== undefined);
          expect(pages).toBeGreaterThan(4);
        }
      },
    );

    it("has the same records, and finds each", async () => {
      expect(await collect(gateway.usage.records(PERIOD))).toEqual(await collect(ledger.records(PERIOD)));
      expect(await gateway.usage.find("req_37")).toEqual(await ledger.history?.find("req_37"));
      expect(await gateway.usage.find("req_unknown")).toBeUndefined();
    });

    it("counts a record that comes again once, and an unresolved one that was settled as settled", async () => {
      const before = await gateway.usage.totals("caller");
      await recipe.storeRecords(analytics, await collect(ledger.records()));
      expect(await gateway.usage.totals("caller")).toEqual(before);
      const unresolved = (await collect(ledger.records())).find(({ state }) => state === "unresolved");
      if (unresolved === undefined) throw new Error("There is no unresolved record.");
      const { id, time, caller, model } = unresolved;
      const settled = recordOf({ id, time, caller, model, charge: "9", late: true });
      await recipe.storeRecords(analytics, [unresolved, settled]);
      await recipe.storeRecords(analytics, [unresolved]);
      expect(await gateway.usage.find(id)).toEqual(settled);
    });
  });

  it("a replica, which cannot be written, is a source of reports; balances are those of the ledger", async () => {
    const replica = openPool("-c default_transaction_read_only=on");
    const source = createPostgresLedger({ pool: admin, schema });
    await source.settle(recordOf({ id: "req_1", caller: "a", charge: "0.3" }));
    const ledger = createMemoryLedger();
    await ledger.settle(recordOf({ id: "req_2", caller: "a", charge: "5" }));
    const reports = createPostgresLedger({ pool: replica, schema, migrate: false });
    const gateway = createGateway({ ...SETUP, ledger, reports });
    expect(await gateway.usage.totals("caller")).toMatchObject([{ key: "a", charge: "0.3" }]);
    expect((await gateway.usage.page()).records).toMatchObject([{ id: "req_1" }]);
    expect(await gateway.usage.balance("a")).toEqual({ settled: "5", held: "0" });
    await gateway.close();
    await source.close();
    await replica.end();
  });
});
