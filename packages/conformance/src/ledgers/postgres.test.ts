import { createPostgresLedger, type PostgresLedger } from "@calotype/postgres";
import { describeCallers } from "../caller-suite.js";
import type { Clock } from "../ledger-suite/clock.js";
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
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { isFull } from "../support/test-run.js";
import { describeTasks } from "../task-suite.js";

const RUNS = isFull() ? 20 : 8;

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);

  const open = ({ now }: Pick<Clock, "now">) =>
    createOpened((): PostgresLedger => createPostgresLedger({ pool, schema, now }), empty);
  const store = { isDurable: true, isShared: true };

  describeLedger("in PostgreSQL", open, { ...store, randomRuns: RUNS });
  describeReports("in PostgreSQL", open);
  describeBudgetStore("in PostgreSQL", open, store);
  describeHistory("in PostgreSQL", open, store);
  describeKeptHolds("in PostgreSQL", open, store);
  describeTasks("in PostgreSQL", open, { ...store, canContinue: true, randomRuns: RUNS });
  describeOutboxes("in PostgreSQL", open, store);
  describeCallers("in PostgreSQL", open, { ...store, tellsOthers: true });
  describeRefusals("in PostgreSQL", open);
});
