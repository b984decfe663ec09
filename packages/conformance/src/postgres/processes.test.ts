import { setTimeout as sleep } from "node:timers/promises";
import { createPostgresLedger } from "@calotype/postgres";
import { afterEach, expect, it } from "vitest";
import { createRandom } from "../crashes/seeded-random.js";
import { idsOf, readRecords } from "../ledger-suite/read-ledger.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { isFull, SEED } from "../support/test-run.js";
import { assertConsistent } from "./assert-consistent.js";
import { spawnProgram } from "./spawn-program.js";

const FLEET_PROCESS = new URL("fleet-process.ts", import.meta.url);
const MORTAL_PROCESS = new URL("mortal-process.ts", import.meta.url);
/** Each requests twenty holds of each budget, twice as many as the budgets allow. */
const PROCESSES = isFull() ? 30 : 8;
/** Holds of 0.1 that a budget allows. */
const ALLOWED = PROCESSES * 10;
const BUDGET = String(ALLOWED / 10);
const KILLS = isFull() ? 20 : 5;
const DAY_MS = 86_400_000;

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);
  afterEach(empty);
  /** A ledger with the clock of tomorrow, when all leases and holds have expired. */
  const openTomorrow = () => createPostgresLedger({ pool, schema, now: () => Date.now() + DAY_MS });

  /** Waits until the server has finished the statements of killed processes. */
  const untilDisconnected = async (): Promise<void> => {
    const count = "SELECT FROM pg_stat_activity WHERE application_name = $1";
    while ((await pool.query(count, [schema])).rowCount !== 0) await sleep(10);
  };

  it("processes use budgets up exactly, also at the edge of a period, and deliver each record once, and ten sweeps end each hold once", async () => {
    const programs = Array.from({ length: PROCESSES }, (_, at) =>
      spawnProgram(FLEET_PROCESS, [url, schema, `p${at}`, BUDGET]),
    );
    await Promise.all(programs.map(({ started }) => started));
    for (const { tell } of programs) tell("go");
    const told = await Promise.all(programs.map(async ({ output }) => toReport(await output)));

    expect(told.reduce((sum, { granted }) => sum + granted, 0)).toBe(ALLOWED);
    expect(told.reduce((sum, { grantedInPeriod }) => sum + grantedInPeriod, 0)).toBe(ALLOWED);
    for (const side of [0, 1] as const) {
      expect(told.reduce((sum, { grantedByDay }) => sum + grantedByDay[side], 0)).toBe(ALLOWED);
    }
    const first = openTomorrow();
    const sweepers = [first, ...Array.from({ length: 9 }, openTomorrow)];
    const settled = idsOf(await readRecords(first)).toSorted();
    expect(told.flatMap(({ delivered }) => delivered).toSorted()).toEqual(settled);
    const HELD = { settled: "0", held: BUDGET };
    expect(await first.budgets.list({ caller: "monthly" })).toMatchObject([HELD]);
    expect(await first.budgets.list({ caller: "daily" })).toMatchObject([HELD, HELD]);
    const swept = await Promise.all(sweepers.map((sweeper) => sweeper.sweep({ onLost: "charge" })));
    expect(new Set(idsOf(swept.flat())).size).toBe(4 * ALLOWED - settled.length);
    expect(swept.flat()).toHaveLength(4 * ALLOWED - settled.length);
    expect(await first.balance("all")).toEqual({ settled: BUDGET, held: "0" });
    const SETTLED = { settled: BUDGET, held: "0" };
    expect(await first.budgets.list({ caller: "monthly" })).toMatchObject([SETTLED]);
    expect(await first.budgets.list({ caller: "daily" })).toMatchObject([SETTLED, SETTLED]);
    // One of each threshold for each of the four.
    expect(await first.outbox.lease("alert", { limit: 100, leaseMs: 0 })).toHaveLength(12);
    const takers = await Promise.all(sweepers.map((taker) => taker.takeUndelivered(4 * ALLOWED, DAY_MS)));
    expect(idsOf(takers.flat()).toSorted()).toEqual(idsOf(swept.flat()).toSorted());
    await Promise.all(sweepers.map((sweeper) => sweeper.close()));
  });

  /** Starts a process, and kills it some time after its first write. Returns the lines that it printed. */
  const killAfter = async (name: string, milliseconds: number): Promise<string[]> => {
    const { child, started, output } = spawnProgram(MORTAL_PROCESS, [url, schema, name]);
    await started;
    await sleep(milliseconds);
    child.kill("SIGKILL");
    return (await output).split("\n").filter((line) => line !== "");
  };

  it(`no acknowledged write of a killed process is lost or stored twice (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    // At the same time: on a busy machine, each of them takes seconds to start.
    const kills = Array.from({ length: KILLS }, (_, at) => killAfter(`k${at}`, random() * 60));
    const lines = (await Promise.all(kills)).flat();
    // Each process printed a line before it was killed.
    expect(lines.length).toBeGreaterThanOrEqual(KILLS);
    await untilDisconnected();
    const ledger = openTomorrow();
    await ledger.sweep({ onLost: "charge" });
    await assertConsistent(ledger, lines);
    await ledger.close();
  });
});

function toReport(output: string): {
  granted: number;
  grantedInPeriod: number;
  grantedByDay: [number, number];
  delivered: string[];
} {
  return JSON.parse(output.replace("ready\n", ""));
}
