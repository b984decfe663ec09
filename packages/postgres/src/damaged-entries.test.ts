import type { EntryFailure } from "@calotype/core/stores";
import { expect, it } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { createDatabase } from "./database.js";
import { migrate } from "./migrate.js";
import { MIGRATIONS } from "./migrations.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { noise } from "./testing/noise.js";
import { readAll } from "./testing/read-all.js";
import { completionOf, takeNames, taskOf } from "./testing/tasks.js";

const OLD_OWNER = "00000000-0000-4000-8000-000000000000";

await describeWithPostgres("a schema of version 0.1.0", ({ pool, nameSchema }) => {
  /** A schema as version 0.1.0 created it, with some holds and records. */
  const openOld = async () => {
    const schema = nameSchema();
    const database = createDatabase(pool, 10_000);
    await migrate(database, { schema, steps: MIGRATIONS.slice(0, 1), mayChange: true });
    /** Makes a hold as a process of version 0.1.0 does. */
    const holdAsBefore = async (id: string, model = "seedream"): Promise<void> => {
      const { ttlMs: _, ...hold } = holdOf({ id, model, expiresAt: START });
      await pool.query(`SELECT * FROM "${schema}".hold($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, [
        [id],
        [hold.caller],
        [hold.amount],
        [null],
        [START],
        [JSON.stringify(hold)],
        OLD_OWNER,
        // Its process has died.
        1,
        null,
        10_000,
      ]);
    };
    const settled = recordOf({
      id: "old",
      charge: "0.1",
      time: "2026-01-01T00:00:00.000Z",
      usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
      derivation: {
        pricing_mode: "per-request",
        count: 1,
        count_source: "generated_images",
        model_price: "0.1",
        group_ratio: "1",
        exact: "0.1",
      },
    });
    await pool.query(`SELECT "${schema}".settle($1, $2, $3, $4, $5, $6, $7, $8)`, [
      [settled.id],
      [Date.parse(settled.time)],
      [settled.caller],
      [settled.model],
      [settled.channel],
      [settled.images],
      [settled.charge],
      [JSON.stringify(settled)],
    ]);
    return { schema, holdAsBefore, settled };
  };

  it("opens with its records, holds and balances, and its holds can be ended", async () => {
    const { schema, holdAsBefore, settled } = await openOld();
    for (const id of ["a", "b", "c"]) await holdAsBefore(id);
    const ledger = createPostgresLedger({ pool, schema });

    expect(await readAll(ledger)).toStrictEqual([settled]);
    expect(await ledger.takeUndelivered(9, 0)).toStrictEqual([settled]);
    expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "1.5" });
    await ledger.settle(recordOf({ id: "a", charge: "0.2" }));
    await ledger.release("b");
    expect(await ledger.sweep({ onLost: "charge" })).toMatchObject([{ id: "c", charge: "0.5" }]);
    await ledger.release("c");
    expect(await ledger.balance("me")).toEqual({ settled: "0.3", held: "0" });
    await ledger.close();
  });

  it("works for running processes of 0.1.0 after its migration", async () => {
    const { schema, holdAsBefore } = await openOld();
    // PostgreSQL's clock has microseconds, so these holds may end after this millisecond.
    const ledger = createPostgresLedger({ pool, schema, now: () => Date.now() + 1 });
    await ledger.ready();
    for (const id of ["a", "b"]) await holdAsBefore(id);
    await ledger.sweep({ onLost: "charge" });
    await pool.query(`SELECT "${schema}".release($1)`, [["a"]]);

    expect(await ledger.balance("me")).toEqual({ settled: "0.6", held: "0" });
    expect((await readAll(ledger)).map(({ id, state }) => `${id} ${state}`)).toEqual([
      "old settled",
      "a released",
      "b unresolved",
    ]);
    await ledger.close();
  });

  it("keeps tasks after its migration, whose holds its sweep leaves alone, unlike those from before", async () => {
    const { schema, holdAsBefore } = await openOld();
    await holdAsBefore("a");
    const ledger = createPostgresLedger({ pool, schema });
    expect(await ledger.tasks.submit(...taskOf("1", { budget: "1.1" }))).toMatchObject({ kind: "submitted" });
    expect(await ledger.tasks.submit(...taskOf("2", { budget: "1.1" }))).toMatchObject({ kind: "refused" });

    expect(await ledger.sweep({ onLost: "release", own: true })).toMatchObject([{ id: "a" }]);
    expect(await ledger.balance("me")).toEqual({ settled: "0.1", held: "0.5" });
    expect(await takeNames(ledger)).toEqual(["1"]);
    await ledger.tasks.end(completionOf("1"));
    expect(await ledger.balance("me")).toEqual({ settled: "0.4", held: "0" });
    await ledger.close();
  });

  it("may have a hold that cannot become a record: the others are swept, dead owners removed, records delivered", async () => {
    const { schema, holdAsBefore } = await openOld();
    for (const [at, model] of ["a", noise(3000), "b", "c"].entries()) await holdAsBefore(`req_${at}`, model);
    // One hold cannot be parsed.
    await pool.query(`UPDATE "${schema}".holds SET hold = '{"time":7}' WHERE id = 'req_3'`);
    await pool.query(`UPDATE "${schema}".owners SET alive_until = now() - interval '1 hour'`);
    const ledger = createPostgresLedger({ pool, schema });
    const failures: EntryFailure[] = [];
    const sweep = async () =>
      await ledger.sweep({ onLost: "charge", onFailure: (failure) => failures.push(failure) });

    expect((await sweep()).map(({ id }) => id)).toEqual(["req_0", "req_2"]);
    expect(failures.map(({ id }) => id).toSorted()).toEqual(["req_1", "req_3"]);
    expect((await pool.query(`SELECT FROM "${schema}".owners`)).rowCount).toBe(0);
    expect((await ledger.takeUndelivered(9, 0)).map(({ id }) => id)).toEqual(["old", "req_0", "req_2"]);
    expect(await sweep()).toEqual([]);
    await expect(ledger.sweep({ onLost: "charge" })).rejects.toThrow(/^2 lost holds cannot be ended: req_/);
    await ledger.close();
  });

  it("may have more such holds than a sweep ends in one transaction", async () => {
    const { schema, holdAsBefore } = await openOld();
    await pool.query(`INSERT INTO "${schema}".holds SELECT 'bad_' || n, gen_random_uuid(), '2026-01-01Z', 'me', 1, '{}'
      FROM generate_series(1, 700) AS n`);
    await holdAsBefore("good");
    const ledger = createPostgresLedger({ pool, schema });
    let failures = 0;
    const swept = await ledger.sweep({ onLost: "charge", onFailure: () => failures++ });

    expect(swept).toMatchObject([{ id: "good" }]);
    expect(failures).toBe(700);
    await ledger.close();
  });

  it("may have records that cannot be parsed: the others are delivered, up to the requested number", async () => {
    const schema = nameSchema();
    const ledger = createPostgresLedger({ pool, schema, now: () => START });
    for (let at = 1; at <= 6; at++) await ledger.settle(recordOf({ id: `req_${at}` }));
    await pool.query(
      `UPDATE "${schema}".records SET record = '"damaged"' WHERE id IN ('req_1', 'req_2', 'req_4')`,
    );
    const unreadable: string[] = [];
    const take = async (limit: number, leaseMs: number) =>
      (await ledger.takeUndelivered(limit, leaseMs, ({ id }) => unreadable.push(id))).map(({ id }) => id);

    expect(await take(2, 0)).toEqual(["req_3", "req_5"]);
    expect(unreadable).toEqual(["req_1", "req_2", "req_4"]);
    expect(await take(2, 1000)).toEqual(["req_3", "req_5"]);
    expect(await take(2, 1000)).toEqual(["req_6"]);
    await expect(readAll(ledger)).rejects.toThrow("A stored usage record is damaged.");
    await ledger.close();
  });
});
