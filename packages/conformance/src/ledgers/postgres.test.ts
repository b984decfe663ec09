import { createPostgresLedger, type PostgresLedger } from "@calotype/postgres";
import type { Clock } from "../ledger-suite/clock.js";
import { describeTwoPhase } from "../ledger-suite/describe-two-phase.js";
import { createOpened } from "../ledger-suite/open-ledger.js";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES, useTestSchema } from "../support/postgres-service.js";
import { isFull } from "../support/test-run.js";
import { describePostgresBasics, describePostgresRest } from "./describe-postgres.js";

const RUNS = isFull() ? 20 : 8;

await describeWithService(POSTGRES, (url) => {
  const { pool, schema, empty } = useTestSchema(url);

  const open = ({ now }: Pick<Clock, "now">) =>
    createOpened((): PostgresLedger => createPostgresLedger({ pool, schema, now }), empty);

  describePostgresBasics("in PostgreSQL", open, RUNS);
  describePostgresRest("in PostgreSQL", open, RUNS);
  describeTwoPhase("in PostgreSQL", open);
});
