import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteLedger, type SqliteLedger } from "@calotype/sqlite";
import { afterAll } from "vitest";
import { describeCallers } from "../caller-suite.js";
import type { Clock } from "../ledger-suite/clock.js";
import { describeLedger } from "../ledger-suite.js";
import { describeRefusals } from "../refusal-suite.js";
import { isFull } from "../support/test-run.js";
import { describeTasks } from "../task-suite.js";

/** Linux keeps these files in memory. No test here stops the machine, so none needs to wait for a disk. */
const PARENT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const createFolder = (): string => mkdtempSync(join(PARENT, "calotype-ledger-"));

/** An empty ledger. A copy is opened faster than a new file, which takes all steps of the migration. */
const template = createFolder();
const EMPTY = join(template, "empty.db");
await createSqliteLedger({ path: EMPTY }).close();
afterAll(() => rmSync(template, { recursive: true }));

/** Opens ledgers on a new file. */
function openFile({ now }: Pick<Clock, "now">) {
  const folder = createFolder();
  copyFileSync(EMPTY, join(folder, "ledger.db"));
  const open = (): SqliteLedger => createSqliteLedger({ path: join(folder, "ledger.db"), now });
  let ledger = open();
  const others: SqliteLedger[] = [];
  return {
    ledger,
    join: async (): Promise<SqliteLedger> => {
      const other = open();
      others.push(other);
      return other;
    },
    reopen: async (): Promise<SqliteLedger> => {
      await ledger.close();
      ledger = open();
      return ledger;
    },
    close: async (): Promise<void> => {
      for (const opened of [ledger, ...others]) await opened.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function openMemory({ now }: Pick<Clock, "now">) {
  const ledger = createSqliteLedger({ path: ":memory:", now });
  return { ledger, close: async (): Promise<void> => await ledger.close() };
}

describeLedger("in a file of SQLite", openFile, {
  isDurable: true,
  isShared: true,
  canContinue: true,
  keepsTotals: true,
  randomRuns: isFull() ? 40 : 15,
});
describeTasks("in a file of SQLite", openFile, {
  isDurable: true,
  isShared: true,
  canContinue: true,
  randomRuns: isFull() ? 30 : 10,
});

// The statements are those of a file, so `npm test` runs only the random sequences, which compare it with the reference.
describeLedger("in SQLite's memory", openMemory, {
  canContinue: true,
  keepsTotals: true,
  randomRuns: isFull() ? 120 : 12,
  onlyRandom: !isFull(),
});
describeTasks("in SQLite's memory", openMemory, {
  canContinue: true,
  randomRuns: isFull() ? 60 : 10,
  onlyRandom: !isFull(),
});
describeCallers("in a file of SQLite", openFile, { isDurable: true, isShared: true });
describeCallers("in SQLite's memory", openMemory);
describeRefusals("in a file of SQLite", openFile);
