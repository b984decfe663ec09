import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { expect, it, onTestFinished } from "vitest";
import { createPostgresLedger } from "./create-postgres-ledger.js";
import { migratePostgresLedger } from "./migrate.js";
import type { PostgresClient } from "./pool.js";
import { prunePostgresLedger } from "./prune-postgres-ledger.js";
import { describeWithPostgres } from "./testing/describe-with-postgres.js";
import { holdOf, recordOf } from "./testing/entries.js";
import { startTerminatingServer } from "./testing/fake-server.js";
import { readAll } from "./testing/read-all.js";

const nameApplication = (): string => `calotype-${randomUUID().slice(0, 8)}`;

/** Collects the errors that would end a process. */
function watchUncaught(): readonly Error[] {
  const uncaught: Error[] = [];
  const listeners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => uncaught.push(error));
  onTestFinished(() => {
    process.removeAllListeners("uncaughtException");
    for (const listener of listeners) process.on("uncaughtException", listener);
  });
  return uncaught;
}

it("a session that the server starts and ends in one TCP segment causes no uncaught error", async () => {
  const uncaught = watchUncaught();
  const server = await startTerminatingServer();
  const pool = new Pool({ connectionString: server.url });
  const ledger = createPostgresLedger({ pool });

  await expect(ledger.hold(holdOf({ id: "req_1" }))).rejects.toThrow(/terminat|not queryable/i);
  await expect(migratePostgresLedger({ pool })).rejects.toThrow(/terminat|not queryable/i);
  await expect(prunePostgresLedger({ pool, before: "2026-01-01T00:00:00Z" })).rejects.toThrow(
    /terminat|not queryable/i,
  );

  expect(server.accepted()).toBeGreaterThan(2);
  expect(uncaught).toEqual([]);
  await ledger.close();
  await pool.end();
  await server.close();
});

await describeWithPostgres("sessions of a ledger", ({ url, pool, nameSchema }) => {
  const countSessions = async (application: string): Promise<number> => {
    const { rowCount } = await pool.query("SELECT FROM pg_stat_activity WHERE application_name = $1", [
      application,
    ]);
    return rowCount ?? 0;
  };

  it("may be ended repeatedly under load: there is no uncaught error, and every charge counts once", async () => {
    const uncaught = watchUncaught();
    const application = nameApplication();
    const own = new Pool({ connectionString: url, application_name: application, max: 4, maxUses: 2 });
    const ledger = createPostgresLedger({ pool: own, schema: nameSchema() });
    await ledger.ready();
    const kept = new Set<string>();
    const over = new AbortController();
    const settle = async (worker: number): Promise<void> => {
      for (let round = 0; !over.signal.aborted; round++) {
        const id = `req_${worker}_${round}`;
        try {
          await ledger.settle(recordOf({ id, charge: "1" }));
          kept.add(id);
        } catch {
          // Four attempts in a row lost their session. Core would try again.
          await ledger.release(id).catch(() => undefined);
        }
      }
    };
    const workers = Array.from({ length: 8 }, (_, worker) => settle(worker));
    for (let kill = 0; kill < 30; kill++) {
      await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [
        application,
      ]);
      await sleep(20);
    }
    over.abort();
    await Promise.all(workers);

    const records = new Map<string, string | null>();
    for await (const { id, charge } of ledger.records()) records.set(id, charge);
    expect([...kept].filter((id) => records.get(id) !== "1")).toEqual([]);
    expect(await ledger.balance("me")).toEqual({ settled: String(records.size), held: "0" });
    expect(uncaught).toEqual([]);
    await ledger.close();
    await own.end();
  });

  it("add one listener for each event to a shared pool, and remove it when the last ledger has closed", async () => {
    const shared = new Pool({ connectionString: url, max: 2 });
    const clients = new Set<PostgresClient & { listenerCount(event: string): number }>();
    shared.on("connect", (client) => clients.add(client));
    const listeners = (): number[] =>
      ["error", "connect", "acquire"].map((event) => shared.listenerCount(event));
    const schema = nameSchema();
    await shared.query("SELECT 1");
    const before = listeners();

    for (let round = 0; round < 5; round++) {
      const ledgers = Array.from({ length: 4 }, () => createPostgresLedger({ pool: shared, schema }));
      await Promise.all(ledgers.map((ledger) => ledger.balance("me")));
      expect(listeners()).toEqual(before.map((count) => count + 1));
      await Promise.all(ledgers.flatMap((ledger) => [ledger.close(), ledger.close()]));
    }

    expect(listeners()).toEqual(before);
    // One listener is pg-pool's own, for idle connections.
    for (const client of clients) expect(client.listenerCount("error")).toBeLessThanOrEqual(2);
    await shared.end();
  });

  it("do not accumulate on the server while its tables are locked", async () => {
    const application = nameApplication();
    const schema = nameSchema();
    const own = new Pool({ connectionString: url, application_name: application, max: 3 });
    // It takes longer than a call of this ledger if the machine is busy.
    await migratePostgresLedger({ pool, schema });
    const ledger = createPostgresLedger({ pool: own, schema, leaseSeconds: 0.3, timeoutSeconds: 0.3 });
    await ledger.hold(holdOf({ id: "req_1" }));
    const client = await pool.connect();
    await client.query(
      `BEGIN; LOCK TABLE "${schema}".owners, "${schema}".holds, "${schema}".records, "${schema}".outbox,
        "${schema}".balances, "${schema}".format IN ACCESS EXCLUSIVE MODE`,
    );
    // These may take longer than a call, but wait 5 s for a lock at most.
    const other = new Pool({ connectionString: url, application_name: application, max: 2 });
    const patient = createPostgresLedger({ pool: other, schema, migrate: false });
    const slow = Promise.allSettled([
      migratePostgresLedger({ pool: other, schema }),
      patient.totals("day"),
      readAll(patient),
    ]);
    const counts: number[] = [];
    // The renewal of the lease also sends a statement every 0.1 s.
    for (let round = 0; round < 12; round++) {
      const asked = await Promise.allSettled([
        ledger.sweep({ onLost: "release" }),
        ledger.takeUndelivered(10, 1000),
        ledger.markDelivered([recordOf({ id: "req_1" })]),
        ledger.balance("me"),
      ]);
      expect(asked.map(({ status }) => status)).toEqual(asked.map(() => "rejected"));
      counts.push(await countSessions(application));
    }
    for (const { status } of await slow) expect(status).toBe("rejected");
    await client.query("ROLLBACK");
    client.release();

    // A session without a client ends at its time limit, even if the table is still locked.
    expect(Math.max(...counts)).toBeLessThanOrEqual(2 * 3 + 2);
    expect(await ledger.balance("me")).toEqual({ settled: "0", held: "0.5" });
    await Promise.all([ledger.close(), patient.close()]);
    await Promise.all([own.end(), other.end()]);
  });
});
