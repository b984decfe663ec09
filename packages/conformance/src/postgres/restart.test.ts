import { setTimeout as sleep } from "node:timers/promises";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { expect, it, vi } from "vitest";
import { readRecords } from "../ledger-suite/read-ledger.js";
import { describeWithService } from "../support/needs-service.js";
import { assertBalanced } from "./assert-consistent.js";
import { holdOf, recordOf } from "./entries.js";
import { POSTGRES_PROGRAMS, startPostgresServer } from "./postgres-server.js";

/** Repeats a write like the core, although the outcome of the previous attempt is unknown. */
async function insist<T>(write: () => Promise<T>): Promise<{ result: T; failures: number }> {
  for (let failures = 0; ; failures++) {
    try {
      return { result: await write(), failures };
    } catch {
      await sleep(50);
    }
  }
}

await describeWithService(POSTGRES_PROGRAMS, (programs) => {
  it("no charge is lost or stored twice if the server is restarted or crashes", async () => {
    const server = await startPostgresServer(programs);
    const pool = new Pool({ connectionString: server.url });
    const ledger = createPostgresLedger({ pool });
    const settled: string[] = [];
    let failures = 0;
    const end = new AbortController();
    const settleMore = (count: number): Promise<void> => {
      const before = settled.length;
      return vi.waitFor(() => expect(settled.length).toBeGreaterThan(before + count));
    };
    const work = async (worker: number): Promise<void> => {
      for (let round = 0; !end.signal.aborted; round++) {
        const facts = { id: `req-${worker}-${round}`, caller: `caller-${worker % 3}` };
        const held = await insist(
          async () => await ledger.hold(holdOf({ ...facts, amount: "0.5", budget: "1000000" })),
        );
        expect(held.result).toEqual({ ok: true });
        const ended = await insist(async () => await ledger.settle(recordOf({ ...facts, charge: "0.1" })));
        settled.push(facts.id);
        failures += held.failures + ended.failures;
      }
    };
    try {
      const workers = Array.from({ length: 16 }, (_, worker) => work(worker));
      for (const how of ["fast", "immediate"] as const) {
        await settleMore(40);
        await server.stop(how);
        await sleep(700);
        await server.start();
      }
      await settleMore(40);
      end.abort();
      await Promise.all(workers);

      expect(failures).toBeGreaterThan(0);
      expect(settled.length).toBeGreaterThan(100);
      expect((await readRecords(ledger)).map(({ id }) => id).toSorted()).toEqual(settled.toSorted());
      await assertBalanced(ledger);
    } finally {
      await ledger.close();
      await pool.end();
      await server.remove();
    }
  });
});
