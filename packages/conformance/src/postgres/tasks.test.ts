import { setTimeout as sleep } from "node:timers/promises";
import { createPostgresLedger } from "@calotype/postgres";
import { afterEach, expect, it } from "vitest";
import { createRandom } from "../crashes/seeded-random.js";
import { idsOf, readRecords } from "../ledger-suite/read-ledger.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { SEED } from "../support/test-run.js";
import { listAll, submit, sweepTasks, take } from "../task-suite/tasks.js";
import { assertBalanced } from "./assert-consistent.js";
import { spawnProgram } from "./spawn-program.js";

const TASK_PROCESS = new URL("task-process.ts", import.meta.url);
const DAY_MS = 86_400_000;
const CALLERS = ["a", "b", "c"];

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);
  afterEach(empty);

  /** Submits tasks of three callers, with a hold of 0.5 each and a webhook. */
  async function submitMany(count: number): Promise<string[]> {
    const ledger = createPostgresLedger({ pool, schema });
    const names = Array.from({ length: count }, (_, at) => String(at).padStart(4, "0"));
    await Promise.all(
      names.map(async (name, at) => {
        const caller = CALLERS[at % CALLERS.length] ?? "";
        await submit(ledger, name, { caller, webhooks: ["shop"], ttlMs: DAY_MS / 2, keepMs: 10 * DAY_MS });
      }),
    );
    await ledger.close();
    return names.map((name) => `task_${name}`);
  }

  it("four processes take each of a thousand tasks once, and send and end it once", async () => {
    const ids = await submitMany(1_000);
    const programs = Array.from({ length: 4 }, () => spawnProgram(TASK_PROCESS, [url, schema, "work"]));
    await Promise.all(programs.map(({ started }) => started));
    for (const { tell } of programs) tell("go");
    const outputs = await Promise.all(programs.map(({ output }) => output));

    for (const word of ["taken", "sent", "ended"]) expect(idsAfter(word, outputs)).toEqual(ids);
    for (const output of outputs) expect(idsAfter("ended", [output]).length).toBeGreaterThan(0);
    const ledger = createPostgresLedger({ pool, schema });
    await assertBalanced(ledger);
    const ended = (await Promise.all(CALLERS.map((caller) => listAll(ledger.tasks, caller)))).flat();
    expect(ended.filter(({ status }) => status === "completed")).toHaveLength(1_000);
    expect(await ledger.outbox.list({}, 2_000)).toHaveLength(1_000);
    await ledger.close();
  });

  it("tasks of dead processes run elsewhere if they were not sent, and fail otherwise, each with its record", async () => {
    const ids = await submitMany(200);
    const holder = spawnProgram(TASK_PROCESS, [url, schema, "hold"]);
    await holder.started;
    holder.tell("go");
    // It ends when it has everything, without closing its ledger. Its lease is still valid.
    const held = await holder.output;
    expect(idsAfter("taken", [held])).toEqual(ids);
    const sent = idsAfter("sent", [held]);
    expect(sent.length).toBeGreaterThan(50);

    const ledger = createPostgresLedger({ pool, schema });
    expect(await sweepTasks(ledger)).toEqual({ lost: [], inputs: [] });
    expect(await take(ledger)).toEqual([]);
    await pool.query(`UPDATE "${schema}".owners SET alive_until = now() - interval '1 second'`);
    const swept = await Promise.all([sweepTasks(ledger), sweepTasks(ledger)]);
    const lost = swept.flatMap((sweep) => sweep.lost);
    expect(idsOf(lost).toSorted()).toEqual(sent.map((id) => id.replace("task", "req")));
    expect((await take(ledger, 1_000)).map(({ id }) => id).toSorted()).toEqual(
      ids.filter((id) => !sent.includes(id)),
    );
    expect(await readRecords(ledger)).toHaveLength(sent.length);
    await ledger.close();
  });

  it(`no task of processes that are killed at any time is lost or ends twice (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    const ids = await submitMany(400);
    const outputs: string[] = [];
    for (let kill = 0; kill < 8; kill++) {
      const { child, started, tell, output } = spawnProgram(TASK_PROCESS, [url, schema, "work"]);
      await started;
      tell("go");
      await sleep(random() * 150);
      child.kill("SIGKILL");
      outputs.push(await output);
      // Its lease is over at once, so that the next process gets its tasks. The server must have ended its statements before:
      // one of them may still take tasks.
      const end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1";
      await pool.query(end, [schema]);
      await pool.query(`UPDATE "${schema}".owners SET alive_until = now() - interval '1 second'`);
      const sweeper = createPostgresLedger({ pool, schema });
      await sweepTasks(sweeper);
      await sweeper.close();
    }
    const last = spawnProgram(TASK_PROCESS, [url, schema, "work"]);
    await last.started;
    last.tell("go");
    outputs.push(await last.output);

    const sent = idsAfter("sent", outputs);
    expect(new Set(sent).size).toBe(sent.length);
    const ledger = createPostgresLedger({ pool, schema });
    const tasks = (await Promise.all(CALLERS.map((caller) => listAll(ledger.tasks, caller)))).flat();
    expect(tasks.map(({ id }) => id).toSorted()).toEqual(ids);
    const completed = tasks.filter(({ status }) => status === "completed").map(({ id }) => id);
    const failed = tasks.filter(({ status }) => status === "failed").map(({ id }) => id);
    expect(completed.length + failed.length).toBe(400);
    expect(completed).toEqual(expect.arrayContaining(idsAfter("ended", outputs)));
    // Each was sent, so each has a record: a settled one if it completed.
    const records = await readRecords(ledger);
    expect(idsOf(records).toSorted()).toEqual(ids.map((id) => id.replace("task", "req")));
    expect(records.filter(({ state }) => state === "settled")).toHaveLength(completed.length);
    expect(await ledger.outbox.list({}, 1_000)).toHaveLength(400);
    await assertBalanced(ledger);
    await ledger.close();
  });
});

/** The ids of the tasks that the programs printed with a word, in the order of the ids. */
function idsAfter(word: string, outputs: readonly string[]): string[] {
  return outputs
    .flatMap((output) => output.split("\n"))
    .flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []))
    .toSorted();
}
