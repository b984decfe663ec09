import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteLedger, type SqliteLedger } from "@calotype/sqlite";
import { describeLedger } from "../ledger-suite.js";

describeLedger(
  "in a file of SQLite",
  ({ now }) => {
    const folder = mkdtempSync(join(tmpdir(), "calotype-ledger-"));
    const open = (): SqliteLedger => createSqliteLedger({ path: join(folder, "ledger.db"), now });
    let ledger = open();
    const others: SqliteLedger[] = [];
    return {
      ledger,
      join: async () => {
        const other = open();
        others.push(other);
        return other;
      },
      reopen: async () => {
        await ledger.close();
        ledger = open();
        return ledger;
      },
      close: async () => {
        for (const opened of [ledger, ...others]) await opened.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
  { isDurable: true, isShared: true, randomRuns: 100 },
);

describeLedger("in SQLite's memory", ({ now }) => {
  const ledger = createSqliteLedger({ path: ":memory:", now });
  return { ledger, close: () => ledger.close() };
});
