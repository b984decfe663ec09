import { expect, it } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { recordOf } from "./testing/entries.js";
import { FORMAT_1 } from "./testing/format-1.js";
import { readAll } from "./testing/read-all.js";
import { completionOf, takeNames, taskOf } from "./testing/tasks.js";

await describeWithPostgres("a schema of version 0.1", ({ pool, nameSchema }) => {
  const create = async (): Promise<string> => {
    const schema = nameSchema();
    await pool.query(FORMAT_1.replaceAll("{schema}", `"${schema}"`));
    return schema;
  };

  /** Tables with their columns, indices, and functions with their text, without what is the schema's own. */
  const describeSchema = async (schema: string): Promise<string[]> => {
    const { rows } = await pool.query<{ text: string }>(
      `SELECT format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default) AS text
         FROM information_schema.columns WHERE table_schema = $1
       UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = $1
       UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1)`,
      [schema],
    );
    return rows
      .map(({ text }) =>
        text
          .replaceAll(schema, "")
          // The month in which the records so far end depends on them.
          .replaceAll(/records_until_\d+/g, "records_until")
          .replaceAll(/ *--.*$/gm, "")
          .replaceAll(/calotype_[0-9a-f]{32}/g, "channel of the schema")
          .replaceAll(/\s+/g, " ")
          .replaceAll(/(?: SET \w+ TO '[^']*')+/g, (settings) =>
            settings.split(" SET ").toSorted().join(" SET "),
          ),
      )
      .toSorted();
  };

  it("keeps its holds, records and balances, and gets tasks and totals", async () => {
    const ledger = createPostgresLedger({ pool, schema: await create() });
    expect(await ledger.balance("me")).toEqual({ settled: "1", held: "0.5" });
    expect((await readAll(ledger)).map(({ id, state }) => `${id} ${state}`).toSorted()).toEqual([
      "req_lost unresolved",
      "req_settled settled",
    ]);
    expect((await ledger.takeUndelivered(9, 0)).map(({ id }) => id)).toEqual(["req_lost"]);

    await ledger.tasks.submit(...taskOf("a"));
    expect(await takeNames(ledger)).toEqual(["a"]);
    await ledger.tasks.end(completionOf("a"));
    await ledger.settle(recordOf({ id: "req_lost", charge: "0.1" }));
    expect((await ledger.sweep({ onLost: "release" })).map(({ id }) => id)).toEqual(["req_open"]);

    expect(await ledger.balance("me")).toEqual({ settled: "0.7", held: "0" });
    expect(await ledger.totals("caller")).toMatchObject([{ requests: 4, charge: "0.7" }]);
    await ledger.close();
  });

  it("has the tables, indices and functions of a new schema after its update", async () => {
    const [old, present] = [await create(), nameSchema()];
    for (const schema of [old, present]) {
      const ledger = createPostgresLedger({ pool, schema });
      await ledger.ready();
      await ledger.close();
    }
    const expected = await describeSchema(present);
    expect(expected.length).toBeGreaterThan(50);
    expect(await describeSchema(old)).toEqual(expected);
  });
});
