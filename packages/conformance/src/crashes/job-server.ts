import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { createGateway } from "@calotype/core";
import type { TaskLedger } from "@calotype/core/stores";
import { toNodeHandler } from "@calotype/node";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { JOB_FAMILY } from "../settlement/job-family.ts";

/** The input of this program. */
export interface JobPlan {
  readonly ledger: JobLedgerPlan;
  readonly baseUrl: string;
  readonly callerKey: string;
}

/** Where the ledger is, and how far its clock is ahead, so that the leases of earlier processes have expired. */
export type JobLedgerPlan = { readonly aheadMs: number } & (
  | { readonly path: string }
  | { readonly url: string; readonly schema: string }
);

/** Opens the ledger of a plan. */
export function openPlannedLedger(plan: JobLedgerPlan): TaskLedger & { close(): Promise<void> } {
  const now = (): number => Date.now() + plan.aheadMs;
  if ("path" in plan) return createSqliteLedger({ path: plan.path, now });
  const pool = new Pool({ connectionString: plan.url });
  const ledger = createPostgresLedger({ pool, schema: plan.schema, now });
  return {
    ...ledger,
    async close() {
      await ledger.close();
      await pool.end();
    },
  };
}

/* A server whose provider works with jobs. It reads its plan, prints its address, and is killed. */
if (import.meta.main) await run();

async function run(): Promise<void> {
  const plan: JobPlan = JSON.parse(await text(process.stdin));
  const gateway = createGateway({
    families: [JOB_FAMILY],
    models: { picture: { family: JOB_FAMILY.name, capabilities: { imagesPerCall: 1 } } },
    channels: [
      { id: "one", family: JOB_FAMILY.name, apiKey: "channel-canary-7d40b1", baseUrl: plan.baseUrl },
    ],
    callers: [{ id: "tester", key: plan.callerKey }],
    billing: {
      model_details: { picture: { pricing_mode: "per-request", model_price: "0.1" } },
      onLost: "charge",
    },
    ledger: openPlannedLedger(plan.ledger),
    logger: {
      warn: () => undefined,
      error: (fields, message) => process.stderr.write(`${message} ${inspect(fields)}\n`),
    },
  });
  gateway.start();
  const server = createServer(toNodeHandler(gateway));
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object") process.stdout.write(`http://127.0.0.1:${address?.port}\n`);
  });
}
