import { createPostgresLedger, type PostgresLedger } from "@calotype/postgres";
import { describeCallers } from "../caller-suite.js";
import type { Clock } from "../ledger-suite/clock.js";
import { describeLedger } from "../ledger-suite.js";
import { describeRefusals } from "../refusal-suite.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { isFull } from "../support/test-run.js";
import { describeTasks } from "../task-suite.js";

const RUNS = isFull() ? 20 : 8;

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);

  function openSchema({ now }: Pick<Clock, "now">) {
    const open = (): PostgresLedger => createPostgresLedger({ pool, schema, now });
    let ledger = open();
    const others: PostgresLedger[] = [];
    return {
      ledger,
      join: async (): Promise<PostgresLedger> => {
        const other = open();
        others.push(other);
        return other;
      },
      reopen: async (): Promise<PostgresLedger> => {
        await ledger.close();
        ledger = open();
        return ledger;
      },
      close: async (): Promise<void> => {
        for (const opened of [ledger, ...others]) await opened.close();
        await empty();
      },
    };
  }

  describeLedger("in PostgreSQL", openSchema, {
    isDurable: true,
    isShared: true,
    canContinue: true,
    keepsTotals: true,
    randomRuns: RUNS,
  });
  describeTasks("in PostgreSQL", openSchema, {
    isDurable: true,
    isShared: true,
    canContinue: true,
    randomRuns: RUNS,
  });
  describeCallers("in PostgreSQL", openSchema, { isDurable: true, isShared: true, tellsOthers: true });
  describeRefusals("in PostgreSQL", openSchema);
});
