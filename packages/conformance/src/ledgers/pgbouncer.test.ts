import { type AnyPostgresPool, createPostgresLedger, type PostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import postgres from "postgres";
import { afterAll, beforeAll, describe } from "vitest";
import type { Clock } from "../ledger-suite/clock.js";
import { createOpened } from "../ledger-suite/open-ledger.js";
import { describeWithServices } from "../support/needs-service.js";
import { PGBOUNCER, type PgBouncer, startPgBouncer } from "../support/pgbouncer.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { isFull } from "../support/test-run.js";
import { describePostgresBasics, describePostgresRest } from "./describe-postgres.js";

/*
 * The ledger behind PgBouncer in transaction mode. In `npm test` the money, the outbox and the callers over `pg`; in the full run
 * everything, and postgres.js without prepared statements.
 */

const RUNS = isFull() ? 20 : 2;

await describeWithServices([POSTGRES, PGBOUNCER], (url) => {
  describeOn("pg", url, (bouncer) => {
    const pool = new Pool({ connectionString: bouncer.url });
    return { pool, end: () => pool.end() };
  });
  if (!isFull()) return;
  describeOn("postgres.js", url, (bouncer) => {
    const sql = postgres(bouncer.url, { max: 10, onnotice: () => {}, prepare: false });
    return { pool: sql, end: () => sql.end() };
  });
});

function describeOn(
  name: string,
  url: string,
  start: (bouncer: PgBouncer) => { readonly pool: AnyPostgresPool; readonly end: () => Promise<unknown> },
): void {
  describe(`by ${name} behind PgBouncer`, () => {
    const { schema, empty } = useTestSchema(url);
    let bouncer: PgBouncer | undefined;
    let started: ReturnType<typeof start> | undefined;
    beforeAll(async () => {
      bouncer = await startPgBouncer(url);
      started = start(bouncer);
    });
    afterAll(async () => {
      await started?.end();
      await bouncer?.stop();
    });

    const open = ({ now }: Pick<Clock, "now">) =>
      createOpened((): PostgresLedger => {
        if (started === undefined) throw new Error("The pool starts with the first test.");
        return createPostgresLedger({ pool: started.pool, schema, now });
      }, empty);
    const title = `in PostgreSQL behind PgBouncer by ${name}`;
    describePostgresBasics(title, open, RUNS, false);
    if (isFull()) describePostgresRest(title, open, RUNS);
  });
}
