import { Pool } from "pg";
import { expect, it } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { createDatabase } from "./database.js";
import { migrate, migratePostgresLedger } from "./migrate.js";
import { MIGRATIONS } from "./migrations.js";
import { WITHOUT_COMPILATION } from "./sql/without-compilation.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";
import { completionOf, SWEEP, takeNames, taskOf } from "./testing/tasks.js";

const FIRST = "CREATE TABLE {schema}.a (id text); INSERT INTO {schema}.a VALUES ('kept');";
const SECOND = "ALTER TABLE {schema}.a ADD COLUMN b text DEFAULT 'added';";

await describeWithPostgres("a schema", ({ url, pool, nameSchema }) => {
  const database = createDatabase(pool, 10_000);
  const migrateTo = async (schema: string, steps: readonly string[], mayChange = true): Promise<void> =>
    await migrate(database, { schema, steps, mayChange });
  const read = async (sql: string): Promise<unknown[]> => (await pool.query(sql)).rows;

  it("of an older format gets the missing steps, and keeps its data", async () => {
    const schema = nameSchema();
    await migrateTo(schema, [FIRST]);
    await migrateTo(schema, [FIRST, SECOND]);
    await migrateTo(schema, [FIRST, SECOND]);
    expect(await read(`SELECT * FROM "${schema}".a`)).toEqual([{ id: "kept", b: "added" }]);
    expect(await read(`SELECT * FROM "${schema}".format`)).toEqual([{ version: 2 }]);
  });

  it("is unchanged if a step fails", async () => {
    const schema = nameSchema();
    await migrateTo(schema, [FIRST]);
    const broken = `${SECOND} INSERT INTO nowhere VALUES (1);`;
    await expect(migrateTo(schema, [FIRST, broken])).rejects.toThrow(
      `The ledger's schema "${schema}" cannot be used: relation "nowhere" does not exist`,
    );
    expect(await read(`SELECT * FROM "${schema}".a`)).toEqual([{ id: "kept" }]);
    expect(await read(`SELECT * FROM "${schema}".format`)).toEqual([{ version: 1 }]);
  });

  it("reports why a step failed, also if the connection was lost", async () => {
    const suicide = "SELECT pg_terminate_backend(pg_backend_pid())";
    await expect(migrateTo(nameSchema(), [FIRST, suicide])).rejects.toThrow("terminating connection");
  });

  it("of a newer format is rejected", async () => {
    const schema = nameSchema();
    await migrateTo(schema, [FIRST, SECOND]);
    await expect(migrateTo(schema, [FIRST])).rejects.toThrow(
      "it was written by a newer version of @calotype/postgres (its format is 2, this one knows 1); update",
    );
  });

  it("must have the current format if it may not be changed", async () => {
    const schema = nameSchema();
    await expect(migrateTo(schema, [FIRST], false)).rejects.toThrow("run migratePostgresLedger first");
    await migrateTo(schema, [FIRST]);
    await migrateTo(schema, [FIRST], false);
    await expect(migrateTo(schema, [FIRST, SECOND], false)).rejects.toThrow(
      "run migratePostgresLedger first",
    );
  });

  it("has no function that is compiled at each call, also if it was made by an older version", async () => {
    const schema = nameSchema();
    const findCompiled = async (): Promise<unknown[]> =>
      await read(`SELECT proname FROM pg_proc WHERE pronamespace = '"${schema}"'::regnamespace
        AND 'enable_seqscan=off' = ANY (proconfig) AND 'jit=off' <> ALL (proconfig)`);
    const place = MIGRATIONS.indexOf(WITHOUT_COMPILATION);
    await migrateTo(schema, MIGRATIONS.slice(0, place + 1));
    expect(await findCompiled()).toEqual([]);
    // As an older version left them.
    await pool.query(`ALTER FUNCTION "${schema}".submit_tasks_within_shares RESET jit;
      ALTER FUNCTION "${schema}".settle_calls RESET jit;
      UPDATE "${schema}".format SET version = ${place}`);
    expect(await findCompiled()).toHaveLength(2);
    await migrateTo(schema, MIGRATIONS);
    expect(await findCompiled()).toEqual([]);
  });

  it("with another program's tables of the same names is rejected and not changed", async () => {
    const schema = nameSchema();
    await pool.query(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}".records (mine text)`);
    const ledger = createPostgresLedger({ pool, schema });
    await expect(ledger.ready()).rejects.toThrow('cannot be used: relation "records" already exists');
    await ledger.close();
    expect(
      await read(`SELECT table_name FROM information_schema.tables WHERE table_schema = '${schema}'`),
    ).toEqual([{ table_name: "records" }]);
  });

  it("is created once by fifty ledgers that start at the same time", async () => {
    const schema = nameSchema();
    const crowd = new Pool({ connectionString: url, max: 15 });
    const ledgers = Array.from({ length: 50 }, () => createPostgresLedger({ pool: crowd, schema }));
    await Promise.all(
      ledgers.map((ledger, at) => ledger.settle(recordOf({ id: `req_${at}`, charge: "0.1" }))),
    );
    expect(await ledgers[0]?.balance("me")).toEqual({ settled: "5", held: "0" });
    await Promise.all(ledgers.map((ledger) => ledger.close()));
    await crowd.end();
  });

  it("works for a user that may only read and write its tables", async () => {
    const schema = nameSchema();
    const role = `${schema}_user`;
    await migratePostgresLedger({ pool, schema });
    await pool.query(`CREATE ROLE "${role}"; GRANT USAGE ON SCHEMA "${schema}" TO "${role}";
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "${schema}" TO "${role}"`);
    const limited = new Pool({ connectionString: url, options: `-c role=${role}` });
    const ledger = createPostgresLedger({ pool: limited, schema, migrate: false });

    await ledger.hold(holdOf({ id: "req_1", budget: "1" }));
    await ledger.hold(holdOf({ id: "req_2" }));
    await ledger.settle(recordOf({ id: "req_1" }));
    await ledger.release("req_2");
    await ledger.hold(holdOf({ id: "req_3" }));
    expect(await ledger.sweep({ onLost: "charge", own: true })).toHaveLength(1);
    await ledger.markDelivered(await ledger.takeUndelivered(10, 1000));
    for (const name of ["a", "b"]) await ledger.tasks.submit(...taskOf(name, { webhooks: ["shop"] }));
    expect(await takeNames(ledger)).toEqual(["a", "b"]);
    await ledger.tasks.end(completionOf("a"));
    await ledger.tasks.cancel("me", "task_b");
    expect(await ledger.outbox.lease("message", { limit: 9, leaseMs: 1000, except: [] })).toHaveLength(2);
    await ledger.tasks.sweep(SWEEP);
    expect(await ledger.totals("caller")).toMatchObject([{ requests: 3, charge: "1.1" }]);

    await ledger.close();
    await limited.end();
    await pool.query(`DROP OWNED BY "${role}"; DROP ROLE "${role}"`);
  });
});
