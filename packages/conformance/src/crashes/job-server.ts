import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { createGateway, type GatewayOptions } from "@calotype/core";
import type { Dialect, Family } from "@calotype/core/families";
import { bfl } from "@calotype/core/families/bfl";
import { fal } from "@calotype/core/families/fal";
import { openai } from "@calotype/core/families/openai";
import { replicate } from "@calotype/core/families/replicate";
import type { TaskLedger } from "@calotype/core/stores";
import { toNodeHandler } from "@calotype/node";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";
import { JOB_FAMILY } from "../settlement/job-family.ts";

/** The input of this program. */
export interface JobPlan {
  readonly ledger: JobLedgerPlan;
  /** That of the provider of {@link JOB_FAMILY}, or those of the emulator for the services. */
  readonly baseUrl: string | Readonly<Record<JobService, string>>;
  readonly callerKey: string;
}

/** The families and the dialect whose providers work with jobs. Each is the name of a model, too. */
export const JOB_SERVICES = ["bfl", "fal", "replicate", "relay"] as const;
export type JobService = (typeof JOB_SERVICES)[number];

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

const KEY = "channel-canary-7d40b1";

/* A server whose provider works with jobs. It reads its plan, prints its address, and is killed. */
if (import.meta.main) await run();

async function run(): Promise<void> {
  const plan: JobPlan = JSON.parse(await text(process.stdin));
  const provider = typeof plan.baseUrl === "string" ? ofJobFamily(plan.baseUrl) : ofServices(plan.baseUrl);
  const price = { pricing_mode: "per-request", model_price: "0.1" } as const;
  const models = Object.keys(provider.models ?? {});
  const gateway = createGateway({
    ...provider,
    callers: [{ id: "tester", key: plan.callerKey }],
    billing: {
      model_details: Object.fromEntries(models.map((name) => [name, price])),
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

type JobProviderOptions = Pick<GatewayOptions, "families" | "models" | "channels">;

function ofJobFamily(baseUrl: string): JobProviderOptions {
  const { name } = JOB_FAMILY;
  return {
    families: [JOB_FAMILY],
    models: { picture: { family: name, capabilities: { imagesPerCall: 1 } } },
    channels: [{ id: "one", family: name, apiKey: KEY, baseUrl }],
  };
}

/** The models have the names of the services. Those of BFL and Replicate make one image per call. */
function ofServices(baseUrls: Readonly<Record<JobService, string>>): JobProviderOptions {
  const relay = { ...openai, dialects: { relay: pollOften(openai.dialects?.["relay"] ?? {}) } };
  const names = { bfl: "flux-2-pro", fal: "fal-ai/flux-2", replicate: "black-forest-labs/flux-2-pro" };
  const channelOf = (id: JobService) => ({ id, apiKey: KEY, baseUrl: baseUrls[id] });
  return {
    families: [...[bfl, fal, replicate].map(pollOften<Family>), relay],
    models: {
      bfl: { family: "bfl", capabilities: names.bfl },
      fal: { family: "fal", capabilities: names.fal },
      replicate: { family: "replicate", capabilities: names.replicate },
      relay: { family: "openai" },
    },
    channels: [
      ...(["bfl", "fal", "replicate"] as const).map((family) => ({
        ...channelOf(family),
        family,
        modelMapping: { [family]: names[family] },
      })),
      { ...channelOf("relay"), family: "openai", dialect: "relay", modelMapping: { relay: "gpt-image-2" } },
    ],
  };
}

/** So that a server polls often before it is killed. */
function pollOften<Part extends Partial<Dialect>>(part: Part): Part {
  return { ...part, jobs: part.jobs && { ...part.jobs, pollSeconds: 0.1 } };
}
