import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteLedger, type SqliteLedger } from "@calotype/sqlite";
import { afterAll } from "vitest";
import { describeCallers } from "../caller-suite.js";
import type { Clock } from "../ledger-suite/clock.js";
import { describeTwoPhase } from "../ledger-suite/describe-two-phase.js";
import { createOpened } from "../ledger-suite/open-ledger.js";
import {
  describeBudgetStore,
  describeHistory,
  describeKeptHolds,
  describeLedger,
  describeReports,
} from "../ledger-suite.js";
import { describeOutboxes } from "../outbox-suite.js";
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
  return createOpened(open, () => rmSync(folder, { recursive: true }));
}

function openMemory({ now }: Pick<Clock, "now">) {
  const ledger = createSqliteLedger({ path: ":memory:", now });
  return { ledger, close: async (): Promise<void> => await ledger.close() };
}

const STORE = { isDurable: true, isShared: true };
describeLedger("in a file of SQLite", openFile, { ...STORE, randomRuns: isFull() ? 40 : 15 });
describeTwoPhase("in a file of SQLite", openFile);
describeReports("in a file of SQLite", openFile);
describeBudgetStore("in a file of SQLite", openFile, STORE);
describeHistory("in a file of SQLite", openFile, STORE);
describeKeptHolds("in a file of SQLite", openFile, STORE);
describeTasks("in a file of SQLite", openFile, {
  ...STORE,
  canContinue: true,
  randomRuns: isFull() ? 30 : 10,
});

// The statements are those of a file, so `npm test` runs only the random sequences, which compare it with the reference.
const onlyRandom = !isFull();
describeLedger("in SQLite's memory", openMemory, { randomRuns: isFull() ? 120 : 12, onlyRandom });
describeTasks("in SQLite's memory", openMemory, {
  canContinue: true,
  randomRuns: isFull() ? 60 : 10,
  onlyRandom,
});
if (isFull()) {
  describeReports("in SQLite's memory", openMemory);
  describeBudgetStore("in SQLite's memory", openMemory);
  describeHistory("in SQLite's memory", openMemory);
  describeKeptHolds("in SQLite's memory", openMemory);
}
describeOutboxes("in a file of SQLite", openFile, STORE);
describeCallers("in a file of SQLite", openFile, STORE);
describeCallers("in SQLite's memory", openMemory);
describeRefusals("in a file of SQLite", openFile);
