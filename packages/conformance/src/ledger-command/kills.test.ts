import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSqliteLedger } from "@calotype/sqlite";
import { describe, expect, it } from "vitest";
import { createRandom } from "../crashes/seeded-random.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES } from "../support/postgres-service.js";
import { isFull, SEED } from "../support/test-run.js";
import { CALLERS, fillLedger } from "./fill-ledger.js";
import {
  at,
  createFolder,
  type LedgerPlace,
  nameSchema,
  readRows,
  runCommand,
  startCommand,
} from "./run-command.js";

const KILLS = 30;
const REQUESTS = 6_000;

/** Starts a command and kills it at a random moment of the time that it takes, until it has ended before. Returns how often. */
async function killUntilDone(words: readonly string[], random: () => number): Promise<number> {
  let longestMs = 500;
  for (let kills = 0; ; kills++) {
    const { child, ended } = startCommand(words);
    const startedAt = performance.now();
    const isEnded = await Promise.race([
      ended.then(() => true),
      sleep(random() * longestMs).then(() => false),
    ]);
    if (!isEnded) child.kill("SIGKILL");
    const { code, err } = await ended;
    if (code === 0) return kills;
    expect(err).toBe("");
    // A copy goes on, so each try has less to do. A slow machine must still get to its end.
    longestMs = Math.max(longestMs * 1.1, performance.now() - startedAt);
  }
}

/** A ledger with records of all callers. */
async function fillFile(): Promise<LedgerPlace> {
  const path = join(createFolder(), "ledger.db");
  const ledger = createSqliteLedger({ path });
  await fillLedger(ledger, REQUESTS);
  await ledger.close();
  return { ledger: path };
}

const checkWell = async (place: LedgerPlace): Promise<void> =>
  expect(await runCommand("check", ...at("ledger", place))).toMatchObject({ code: 0, err: "" });

await describeWithService(POSTGRES, (url) => {
  describe.runIf(isFull())(`a command that is killed at random moments (TEST_SEED=${SEED})`, () => {
    it(`copies the same as one that is not, after at least ${2 * KILLS} kills`, {
      timeout: 1_800_000,
    }, async () => {
      const random = createRandom(SEED);
      const source = await fillFile();
      const rows = await readRows(source);
      for (let kills = 0, back = 0; kills < KILLS || back < KILLS; ) {
        const target = nameSchema(url);
        kills += await killUntilDone(["copy", ...at("from", source), ...at("to", target)], random);
        expect(await readRows(target)).toBe(rows);
        await checkWell(target);
        const file = { ledger: join(createFolder(), "back.db") };
        back += await killUntilDone(["copy", ...at("from", target), ...at("to", file)], random);
        expect(await readRows(file)).toBe(rows);
        await checkWell(file);
        process.stdout.write(`Kills: ${kills} to PostgreSQL, ${back} to SQLite.\n`);
      }
    });

    it(`moves a caller there and back, after at least ${KILLS} kills`, { timeout: 1_800_000 }, async () => {
      const random = createRandom(SEED + 1);
      const [source, target] = [await fillFile(), nameSchema(url)];
      const [caller = ""] = CALLERS;
      // A table begins with a line that has its name. Entries of the outbox stay at the source.
      const rowsOf = async (place: LedgerPlace): Promise<string[]> =>
        (await readRows(place))
          .split('\n{"table":')
          .filter((table) => !/^"(?:undelivered_alerts|alert_messages|refusals)"/.test(table))
          .flatMap((table) => table.split("\n"))
          .filter((row) => row.includes(JSON.stringify(caller)));
      const rows = await rowsOf(source);
      let kills = await killUntilDone(
        ["copy", ...at("from", source), ...at("to", target), "--caller", caller],
        random,
      );
      for (let moves = 0; kills < KILLS; moves++) {
        const [from, to] = moves % 2 === 0 ? [target, source] : [source, target];
        const words = ["copy", ...at("from", from), ...at("to", to), "--caller", caller];
        kills += await killUntilDone([...words, "--replace"], random);
        expect((await rowsOf(to)).toSorted()).toEqual(rows.toSorted());
        await checkWell(from);
        await checkWell(to);
      }
      process.stdout.write(`Kills of moves: ${kills}.\n`);
    });
  });
});
