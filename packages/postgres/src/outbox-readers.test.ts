import { createGateway } from "@calotype/core";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresLedger, type PostgresLedger } from "./create-postgres-ledger.js";
import { createDatabase } from "./database.js";
import { migrate } from "./migrate.js";
import { BEFORE_MONTHS, MIGRATIONS } from "./migrations.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";

/** The number of steps before the readers. */
const BEFORE = BEFORE_MONTHS - 1;

const startGateway = (ledger: PostgresLedger, options: { readonly onUsage?: () => void }): void => {
  const gateway = createGateway({
    models: { m: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "k" }],
    callers: [{ id: "me", key: "a-long-enough-caller-key" }],
    ledger,
    ...options,
  });
  onTestFinished(async () => await gateway.close());
};

const charge = async (ledger: PostgresLedger, id: string, amount = "1"): Promise<void> => {
  await ledger.hold(holdOf({ id, caller: "me", amount, budget: "10" }));
  await ledger.settle(recordOf({ id, caller: "me", charge: amount }));
};

await describeWithPostgres("entries that nobody delivers", ({ pool, nameSchema }) => {
  const open = (schema: string): PostgresLedger => {
    const ledger = createPostgresLedger({ pool, schema });
    onTestFinished(async () => await ledger.close());
    return ledger;
  };
  /** A ledger of a gateway that delivers nothing. */
  const openWithoutReader = (schema: string): PostgresLedger => {
    const ledger = open(schema);
    ledger.setReader("record", false);
    ledger.setReader("alert", false);
    return ledger;
  };
  const listEntries = async (schema: string): Promise<string[]> => {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT coalesce(record || ' ' || state, 'alert ' || threshold) AS name FROM "${schema}".outbox_entries ORDER BY sequence`,
    );
    return rows.map(({ name }) => name);
  };
  it("are not written, also if the tables were opened before the gateway was created", async () => {
    const schema = nameSchema();
    const ledger = open(schema);
    await ledger.ready();
    startGateway(ledger, {});
    await charge(ledger, "req_1", "8");
    await ledger.hold(holdOf({ id: "req_2", caller: "me", ttlMs: 0 }));
    await ledger.sweep({ onLost: "charge" });
    await ledger.release("req_2");

    expect(await listEntries(schema)).toEqual([]);
    expect(await ledger.balance("me")).toEqual({ settled: "8", held: "0" });
  });

  it("are written by every process as soon as one gateway has onUsage", async () => {
    const schema = nameSchema();
    const [before, after] = [openWithoutReader(schema), open(schema)];
    await charge(before, "req_before");
    startGateway(after, { onUsage: () => undefined });
    // The gateway that delivers has made nothing but a hold.
    await after.hold(holdOf({ id: "req_held", caller: "me" }));
    await charge(before, "req_after");
    await before.settle(recordOf({ id: "req_held", caller: "me" }));

    expect(await listEntries(schema)).toEqual(["req_after settled", "req_held settled"]);
  });

  it("are written while the process that delivers is away, for 30 days", async () => {
    const schema = nameSchema();
    const reader = createPostgresLedger({ pool, schema });
    reader.setReader("record", true);
    reader.setReader("alert", true);
    await reader.takeUndelivered(9, 0);
    await reader.close();
    const seen = async (days: number): Promise<void> => {
      await pool.query(
        `UPDATE "${schema}".outbox_readers SET seen_at = clock_timestamp() - $1 * interval '1 day'`,
        [days],
      );
    };
    const ledger = openWithoutReader(schema);
    await seen(29);
    await charge(ledger, "req_29", "5");
    await seen(31);
    await charge(ledger, "req_31", "5");

    expect(await listEntries(schema)).toEqual(["req_29 settled", "alert 50"]);
    const back = open(schema);
    expect((await back.takeUndelivered(9, 0)).map(({ id }) => id)).toEqual(["req_29"]);
    await charge(ledger, "req_back");
    expect((await back.takeUndelivered(9, 0)).map(({ id }) => id)).toEqual(["req_29", "req_back"]);
  });

  it("replace a version that waits, so that the reader gets the present one when it is back", async () => {
    const schema = nameSchema();
    const reader = open(schema);
    await reader.hold(holdOf({ id: "req_1", caller: "me", ttlMs: 0 }));
    await reader.sweep({ onLost: "charge" });
    await pool.query(`DELETE FROM "${schema}".outbox_readers`);
    await openWithoutReader(schema).settle(recordOf({ id: "req_1", caller: "me" }));

    expect(await listEntries(schema)).toEqual(["req_1 settled"]);
    expect(await reader.takeUndelivered(9, 0)).toMatchObject([{ id: "req_1", state: "settled" }]);
  });

  it("are written in a schema of an older version, whose processes do not say what they deliver", async () => {
    const schema = nameSchema();
    const steps = MIGRATIONS.slice(0, BEFORE);
    await migrate(createDatabase(pool, 10_000), { schema, steps, mayChange: true });
    await charge(openWithoutReader(schema), "req_1", "8");

    expect(await listEntries(schema)).toEqual(["req_1 settled", "alert 50", "alert 80"]);
  });
});
