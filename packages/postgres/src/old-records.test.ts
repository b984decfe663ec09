import type { SettledRecord } from "@calotype/core/billing";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresLedger, type PostgresLedger } from "./create-postgres-ledger.js";
import { createDatabase } from "./database.js";
import { migrate } from "./migrate.js";
import { MIGRATIONS } from "./migrations.js";
import { prunePostgresLedger } from "./prune-postgres-ledger.js";
import { HOURLY_TOTALS } from "./sql/hourly-totals.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf, START } from "./testing/entries.js";

const PERIOD = {
  from: new Date(START - 86_400_000).toISOString(),
  to: new Date(START + 86_400_000).toISOString(),
};

await describeWithPostgres("records of an older version", ({ pool, nameSchema }) => {
  const open = (schema: string): PostgresLedger => {
    const ledger = createPostgresLedger({ pool, schema });
    onTestFinished(async () => await ledger.close());
    return ledger;
  };
  /** Settles as version 0.1 with periods does. */
  const settleAsBefore = async (schema: string, records: readonly SettledRecord[]): Promise<void> => {
    await pool.query(`SELECT "${schema}".settle_records($1, $2, $3, $4, $5, $6, $7, $8, NULL)`, [
      records.map(({ id }) => id),
      records.map(({ time }) => Date.parse(time)),
      records.map(({ caller }) => caller),
      records.map(({ model }) => model),
      records.map(({ channel }) => channel),
      records.map(({ images }) => images),
      records.map(({ charge }) => charge),
      records.map((record) => JSON.stringify(record)),
    ]);
  };

  it("are counted once after an upgrade, by several ledgers at the same time", async () => {
    const schema = nameSchema();
    const database = createDatabase(pool, 10_000);
    await migrate(database, {
      schema,
      mayChange: true,
      steps: MIGRATIONS.slice(0, MIGRATIONS.indexOf(HOURLY_TOTALS)),
    });
    await settleAsBefore(
      schema,
      Array.from({ length: 1_200 }, (_, at) =>
        recordOf({ id: `req_${at}`, charge: "0.1", caller: `caller_${at % 7}` }),
      ),
    );
    await settleAsBefore(schema, [recordOf({ id: "failed", status: 502, errorCode: "\u0000", charge: "0" })]);

    const ledgers = [open(schema), open(schema), open(schema)];
    const reports = await Promise.all(ledgers.map(async (ledger) => await ledger.history.series(PERIOD)));
    for (const { total } of reports) {
      expect(total.sums).toMatchObject({
        requests: 1_201,
        succeeded: 1_200,
        failed: 1,
        charge: "120",
        meanMs: 1500,
      });
    }
    expect((await open(schema).history.page({ outcomes: ["failed"] })).records).toMatchObject([
      { id: "failed" },
    ]);
  });

  it("are counted once if such a process still runs, or a record is replaced before", async () => {
    const schema = nameSchema();
    const ledger = open(schema);
    for (const id of ["a", "b"]) await ledger.hold(holdOf({ id }));
    await ledger.sweep({ onLost: "charge", own: true });
    await settleAsBefore(schema, [recordOf({ id: "a" }), recordOf({ id: "c" })]);
    await pool.query(
      `UPDATE "${schema}".records SET outcome = NULL WHERE id = 'b'; DELETE FROM "${schema}".hourly_totals`,
    );
    await ledger.release("b");
    expect((await ledger.history.series(PERIOD)).total.sums).toMatchObject({
      requests: 3,
      succeeded: 2,
      released: 1,
      charge: "0.6",
    });
  });

  it("stay in the totals when they are pruned", async () => {
    const schema = nameSchema();
    const ledger = open(schema);
    await ledger.settle(recordOf({ id: "a" }));
    await settleAsBefore(schema, [recordOf({ id: "b" })]);
    expect(await prunePostgresLedger({ pool, schema, before: PERIOD.to, undelivered: true })).toBe(2);
    expect((await ledger.history.series(PERIOD)).total.sums).toMatchObject({ requests: 2, charge: "0.6" });
    expect(await ledger.history.page()).toEqual({ records: [] });
  });
});
