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
async function deliverAndKill(ledger: OutboxLedger, args: readonly string[]) {
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
  // All processes write the time of the same clock. A set has the order in which records were accepted for the first time.
  const accepted = new Set(
    lines
      .filter((line) => line.startsWith("end "))
      .map((line) => line.split(" ").slice(1))
      .toSorted(([one], [other]) => Number(one) - Number(other))
      .flatMap(([, ...ids]) => ids),
  );
  const left = new Set<string>();
  for (;;) {
    const records = await ledger.outbox.leaseInOrder({ limit: 1_000, leaseMs: 60_000 });
    if (records.length === 0) break;
    for (const { id } of records) left.add(id);
    await ledger.outbox.done("record", records);
  }
  const all = new Set([...accepted, ...left]);
  return {
    logs: lines.filter((line) => line.startsWith("log ")),
    hasAccepted: accepted.size > 0,
    records: all.size,
    // Those that were accepted, and then those that were not, in the order of each caller.
    outOfOrder: [...callersOf(all)].filter((caller) => {
      const ids = [...all].filter(isOf(caller));
      return ids.join() !== ids.toSorted().join();
    }),
  };
}

const RIGHT = { logs: [], hasAccepted: true, records: CALLERS * ROUNDS, outOfOrder: [] };

const callersOf = (ids: Iterable<string>): Set<string> => new Set(Array.from(ids, (id) => id.slice(0, 2)));
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
    expect(await deliverAndKill({ ...ledger, outbox: { ...later.outbox } }, [url, schema])).toEqual(RIGHT);
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
  expect(await deliverAndKill({ ...ledger, outbox: { ...later.outbox } }, [path])).toEqual(RIGHT);
  await Promise.all([ledger.close(), later.close()]);
}, 60_000);
