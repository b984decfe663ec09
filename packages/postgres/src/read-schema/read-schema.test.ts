import { validate } from "@prisma/prisma-schema-wasm";
import { eq, sum } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { expect, it } from "vitest";
import { createPostgresLedger, type PostgresLedger } from "../create-postgres-ledger.js";
import { describeWithPostgres } from "../testing/describe-with-postgres.js";
import { holdOf, recordOf } from "../testing/entries.js";
import { readTables, writeDrizzleSchema, writePrismaSchema } from "../testing/write-read-schema.js";
import {
  balances,
  callers,
  holds,
  hourlyTotals,
  periodBalances,
  records,
  refusals,
  tasks,
} from "./drizzle.js";

// `vitest run packages/postgres/src/read-schema -u` writes the files after a migration was added.

function validatePrisma(schema: string): void {
  validate(JSON.stringify({ prismaSchema: [["schema.prisma", schema]], noColor: true }));
}

it("Prisma refuses a schema with a wrong type", () => {
  const wrong = 'datasource db {\n  provider = "postgresql"\n}\nmodel A {\n  id Text @id\n}\n';
  expect(() => validatePrisma(wrong)).toThrow("Text");
});

await describeWithPostgres("the schemas for reading", ({ pool, nameSchema }) => {
  const open = async (schema: string): Promise<PostgresLedger> => {
    const ledger = createPostgresLedger({ pool, schema });
    await ledger.ready();
    return ledger;
  };

  it("are those of the migrations", async () => {
    const schema = nameSchema();
    const ledger = await open(schema);
    const tables = await readTables(pool, schema);
    await expect(writeDrizzleSchema(tables)).toMatchFileSnapshot("drizzle.ts");
    await expect(writePrismaSchema(tables)).toMatchFileSnapshot("schema.prisma");
    validatePrisma(writePrismaSchema(tables));
    await ledger.close();
  });

  it("read each table, and sum what was charged", async () => {
    const schema = nameSchema();
    const ledger = await open(schema);
    const hold = holdOf({ id: "req_1", caller: "me" });
    await ledger.hold(hold);
    await ledger.settle(recordOf({ id: "req_1", caller: "me", charge: "0.25" }));
    // The test has a schema of its own.
    const client = {
      query: (query: { readonly text: string }, values: unknown[]) =>
        pool.query({ ...query, text: query.text.replaceAll('"calotype".', `"${schema}".`) }, values),
    };
    const database = drizzle({ client: client as never });
    for (const table of [periodBalances, holds, tasks, callers, refusals]) {
      expect(await database.select().from(table)).toEqual([]);
    }
    expect(await database.select().from(balances)).toMatchObject([{ caller: "me", settled: "0.25" }]);
    expect(await database.select().from(hourlyTotals)).toMatchObject([{ caller: "me", requests: 1n }]);
    const charges = await database
      .select({ caller: records.caller, charge: sum(records.charge) })
      .from(records)
      .where(eq(records.state, "settled"))
      .groupBy(records.caller);
    expect(charges).toEqual([{ caller: "me", charge: "0.25" }]);
    await ledger.close();
  });
});
