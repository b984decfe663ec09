import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { inspect } from "node:util";
import { type ChannelOptions, createGateway } from "@calotype/core";
import type { TaskLedger } from "@calotype/core/stores";
import { toNodeHandler } from "@calotype/node";
import { createPostgresLedger } from "@calotype/postgres";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Cluster, Redis } from "ioredis";
import { Pool } from "pg";
import { noteMarks } from "../crashes/note-marks.ts";
import {
  NOWHERE_SERIES,
  PRICE,
  SEEDREAM_SERIES,
  SINGLE_SERIES,
  WEBHOOK_SECRET,
} from "../crashes/server-plan.ts";
import { FLEET_CALLERS, GATED, type GatewayPlan, REDIS_DEADLINE_MS } from "./gateway-plan.ts";

/*
 * One gateway of a fleet as in `docs/shutdown.md`. It reads its plan and prints its address. It ends on SIGTERM, or
 * is killed. It sweeps with its first request, or at its start if it runs tasks, and after that only at a request to
 * `/sweep`.
 */
const plan: GatewayPlan = JSON.parse(await text(process.stdin));

const client =
  plan.redisCluster === undefined
    ? new Redis(plan.redisUrl)
    : new Cluster(plan.redisCluster.map((port) => ({ host: "127.0.0.1", port })));
client.on("error", () => undefined); // the store reports it
const pool = new Pool({ connectionString: plan.postgresUrl, max: 8, connectionTimeoutMillis: 2_000 });
const { schema, leaseSeconds } = plan;
const ledger = createPostgresLedger({ pool, schema, leaseSeconds });
await ledger.ready();

const notedLedger: TaskLedger = { ...ledger, tasks: noteMarks(ledger.tasks, plan.tasks?.marksPath) };

const SEEDREAM = "doubao-seedream-4-0-250828";
const SINGLE = `${SINGLE_SERIES}*`;
const MODELS = [`${SEEDREAM_SERIES}*`, `${NOWHERE_SERIES}*`, GATED];
const perImage = { pricing_mode: "per-request", model_price: PRICE } as const;
const toChannel = (
  id: string,
  baseUrl: string,
  modelMapping: Readonly<Record<string, string>>,
): ChannelOptions => ({
  id,
  family: "seedream",
  apiKey: `${id}-canary-08d4b6ea`,
  baseUrl,
  modelMapping,
});
// Channels and stores fail on purpose here. Only errors are logged.
const logger = {
  warn: () => undefined,
  error: (fields: object, message: string) => void process.stderr.write(`${message} ${inspect(fields)}\n`),
};

/** The interval of the gateway's maintenance, which includes the sweep. */
const MAINTENANCE_MS = 10_000;

let sweep = (): void => {
  throw new Error("The sweep starts with the first request.");
};
const gateway = createGateway(
  {
    models: {
      ...Object.fromEntries(MODELS.map((model) => [model, { family: "seedream" }])),
      [SINGLE]: { family: "seedream", capabilities: { imagesPerCall: 1 } },
    },
    channels: [
      toChannel("ark", plan.arkBaseUrl, { [`${SEEDREAM_SERIES}*`]: SEEDREAM, [SINGLE]: SEEDREAM }),
      toChannel("nowhere", "http://127.0.0.1:1/api/v3", { [`${NOWHERE_SERIES}*`]: SEEDREAM }),
      toChannel("gated", plan.gatedBaseUrl, { [GATED]: SEEDREAM }),
    ],
    callers: Object.entries(FLEET_CALLERS).map(([id, caller]) => ({ id, ...caller })),
    billing: {
      model_details: Object.fromEntries([...MODELS, SINGLE].map((model) => [model, perImage])),
      onLost: plan.onLost,
    },
    ledger: notedLedger,
    ...(plan.tasks !== undefined && {
      // Fewer than there are clients, so that some tasks wait.
      tasks: { concurrency: 2 },
      webhooks: {
        endpoints: { shop: { main: { url: plan.tasks.webhookUrl, secrets: [WEBHOOK_SECRET] } } },
        allowHosts: ["127.0.0.1"],
        timeoutSeconds: 5,
      },
    }),
    admission: createRedisAdmissionStore({
      client,
      prefix: plan.prefix,
      whenAway: plan.whenAway,
      deadlineSeconds: REDIS_DEADLINE_MS / 1_000,
      leaseSeconds: plan.admissionLeaseSeconds,
      logger,
    }),
    logger,
  },
  {
    repeat: (work, everyMs) => {
      if (everyMs === MAINTENANCE_MS) {
        sweep = work;
        return () => undefined;
      }
      // Clients that follow tasks wait for a shorter interval, if a notification was lost.
      const timer = setInterval(work, everyMs).unref();
      return () => clearInterval(timer);
    },
  },
);

const respond = toNodeHandler(gateway);
const server = createServer((req, res) => {
  if (req.url === "/sweep") {
    sweep();
    res.end();
  } else respond(req, res);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`http://127.0.0.1:${address?.port}\n`);
});
if (plan.tasks !== undefined) gateway.start();

process.once("SIGTERM", () => void end());

async function end(): Promise<void> {
  server.close();
  await gateway.close({ deadlineSeconds: 20 });
  await ledger.close();
  await pool.end();
  client.disconnect();
  server.closeIdleConnections();
  setTimeout(() => process.exit(), 2_000).unref();
}
