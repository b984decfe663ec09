import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { OutboxLedger } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordOf } from "../ledger-suite/entries.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { spawnProgram } from "./spawn-program.js";

const BATCH_PROCESS = new URL("batch-process.ts", import.meta.url);
const CALLERS = 6;
const ROUNDS = 40;

/**
 * Writes records while three processes deliver them, and two of these are killed.
 *
 * @param ledger its outbox has a clock at which all leases are over
 */
async function assertDelivery(ledger: OutboxLedger, args: readonly string[]): Promise<void> {
  const start = () => spawnProgram(BATCH_PROCESS, args);
  const programs = [start(), start(), start()];
  await Promise.all(programs.map(({ started }) => started));
  const [first, second] = programs;
  for (let round = 0; round < ROUNDS; round++) {
    for (let caller = 0; caller < CALLERS; caller++) {
      const id = `c${caller}-${String(round).padStart(3, "0")}`;
      await ledger.settle(recordOf({ id, caller: `c${caller}` }));
    }
    await sleep(15);
    if (round === 10) first?.child.kill("SIGKILL");
    if (round === 25) second?.child.kill("SIGKILL");
  }
  for (const { child } of programs) child.stdin?.end();
  const outputs = await Promise.all(programs.map(async ({ output }) => await output));
  const lines = outputs.flatMap((output) => output.trimEnd().split("\n"));
  expect(lines.filter((line) => line.startsWith("log "))).toEqual([]);
  // All processes write the time of the same clock.
  const accepted = lines
    .filter((line) => line.startsWith("end "))
    .map((line) => line.split(" ").slice(1))
    .toSorted(([one], [other]) => Number(one) - Number(other))
    .flatMap(([, ...ids]) => ids);
  const done = new Set(accepted);
  expect(done.size).toBeGreaterThan(0);
  // The order in which the records were accepted for the first time.
  for (const caller of callersOf(accepted)) {
    const ids = [...done].filter(isOf(caller));
    expect(ids).toEqual(ids.toSorted());
  }

  // What is left was not overtaken: no later record of its caller was accepted.
  const left: string[] = [];
  for (;;) {
    const records = await ledger.outbox.leaseInOrder({ limit: 1_000, leaseMs: 60_000 });
    if (records.length === 0) break;
    left.push(...records.map(({ id }) => id));
    await ledger.outbox.done("record", records);
  }
  for (const caller of callersOf([...done, ...left])) {
    const oldest = left.find(isOf(caller));
    const overtaking = [...done].filter(
      (id) => isOf(caller)(id) && oldest !== undefined && id > oldest && !left.includes(id),
    );
    expect(overtaking, caller).toEqual([]);
  }
  expect(new Set([...done, ...left]).size).toBe(CALLERS * ROUNDS);
}

const callersOf = (ids: readonly string[]): Set<string> => new Set(ids.map((id) => id.slice(0, 2)));
const isOf =
  (caller: string) =>
  (id: string): boolean =>
    id.startsWith(caller);

/** A ledger with the clock of in an hour, when all leases are over. */
const inAnHour = (): number => Date.now() + 3_600_000;

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);
  afterEach(empty);

  it("no record is lost or overtaken when processes that deliver batches from PostgreSQL are killed", async () => {
    const ledger = createPostgresLedger({ pool, schema });
    const later = createPostgresLedger({ pool, schema, now: inAnHour });
    await ledger.ready();
    await assertDelivery({ ...ledger, outbox: { ...later.outbox } }, [url, schema]);
    await Promise.all([ledger.close(), later.close()]);
  }, 60_000);
});

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "calotype-batches-"));
});
afterEach(async () => await rm(folder, { recursive: true }));

it("no record is lost or overtaken when processes that deliver batches from SQLite are killed", async () => {
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger({ path });
  const later = createSqliteLedger({ path, now: inAnHour });
  await assertDelivery({ ...ledger, outbox: { ...later.outbox } }, [path]);
  await Promise.all([ledger.close(), later.close()]);
}, 60_000);
