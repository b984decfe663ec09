import { createPostgresLedger, type PostgresLedger } from "@calotype/postgres";
import { describeLedger } from "../ledger-suite.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);

  describeLedger(
    "in PostgreSQL",
    ({ now }) => {
      const open = (): PostgresLedger => createPostgresLedger({ pool, schema, now });
      let ledger = open();
      const others: PostgresLedger[] = [];
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
          await empty();
        },
      };
    },
    { isDurable: true, isShared: true, randomRuns: 40 },
  );
});
