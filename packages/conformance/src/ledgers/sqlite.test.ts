import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteLedger, type SqliteLedger } from "@calotype/sqlite";
import { describeCallers } from "../caller-suite.js";
import type { Clock } from "../ledger-suite/clock.js";
import { describeLedger } from "../ledger-suite.js";
import { isFull } from "../support/test-run.js";
import { describeTasks } from "../task-suite.js";

/** Opens ledgers on a new file. */
function openFile({ now }: Pick<Clock, "now">) {
  const folder = mkdtempSync(join(tmpdir(), "calotype-ledger-"));
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
describeLedger("in SQLite's memory", openMemory, {
  canContinue: true,
  keepsTotals: true,
  randomRuns: isFull() ? 120 : 60,
});
describeTasks("in SQLite's memory", openMemory, { canContinue: true, randomRuns: 60 });
describeCallers("in a file of SQLite", openFile, { isDurable: true, isShared: true });
describeCallers("in SQLite's memory", openMemory);
