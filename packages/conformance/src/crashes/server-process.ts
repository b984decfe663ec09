import { fsyncSync, openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { createGateway } from "@calotype/core";
import { closeOnSignals, createFileStore, toNodeHandler } from "@calotype/node";
import { createSqliteLedger } from "@calotype/sqlite";
import { dieAtWrite } from "./die-at-write.ts";
import { noteMarks } from "./note-marks.ts";
import {
  CALLERS,
  NOWHERE_SERIES,
  PRICE,
  SEEDREAM_SERIES,
  type ServerPlan,
  SINGLE_SERIES,
  WEBHOOK_SECRET,
} from "./server-plan.ts";

/*
 * A server as in `docs/shutdown.md`. It reads its plan and prints its address. It ends on SIGTERM, or is killed.
 * After a request to `/arm`, it counts the writes of the ledger until the planned kill, if there is one.
 */
const plan: ServerPlan = JSON.parse(await text(process.stdin));

const now = (): number => Date.now() + plan.aheadMs;
const ledger = createSqliteLedger({ path: plan.ledgerPath, now });
const mortal = dieAtWrite({ ...ledger, tasks: noteMarks(ledger.tasks, plan.marksPath) }, plan.death);
const sink = openSync(plan.sinkPath, "a");
const perImage = { pricing_mode: "per-request", model_price: PRICE } as const;

const gateway = createGateway(
  {
    models: {
      [`${SEEDREAM_SERIES}*`]: { family: "seedream" },
      [`${SINGLE_SERIES}*`]: { family: "seedream", capabilities: { imagesPerCall: 1 } },
      [`${NOWHERE_SERIES}*`]: { family: "seedream" },
    },
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: "channel-canary-08d4b6ea",
        baseUrl: plan.arkBaseUrl,
        modelMapping: {
          [`${SEEDREAM_SERIES}*`]: "doubao-seedream-4-0-250828",
          [`${SINGLE_SERIES}*`]: "doubao-seedream-4-0-250828",
        },
      },
      {
        id: "nowhere",
        family: "seedream",
        apiKey: "channel-canary-91c35f7b",
        baseUrl: "http://127.0.0.1:1/api/v3",
        modelMapping: { [`${NOWHERE_SERIES}*`]: "doubao-seedream-4-0-250828" },
      },
    ],
    callers: Object.entries(CALLERS).map(([id, caller]) => ({ id, ...caller })),
    billing: {
      model_details: { "*": perImage },
      onLost: plan.onLost,
    },
    ledger: mortal.ledger,
    ...(plan.resultsPath !== undefined && {
      results: { store: createFileStore({ directory: plan.resultsPath }) },
    }),
    // Fewer than there are clients, so that some tasks wait.
    tasks: { concurrency: 3 },
    ...(plan.webhookUrl !== undefined && {
      webhooks: {
        endpoints: { shop: { main: { url: plan.webhookUrl, secrets: [WEBHOOK_SECRET] } } },
        allowHosts: ["127.0.0.1"],
        timeoutSeconds: 5,
      },
    }),
    async onUsage(record) {
      await sleep(plan.sinkMs ?? 0);
      writeSync(sink, `${JSON.stringify(record)}\n`);
      fsyncSync(sink);
    },
    // Channels fail on purpose here. Only errors are logged.
    logger: {
      warn: () => undefined,
      error: (fields, message) => process.stderr.write(`${message} ${inspect(fields)}\n`),
    },
  },
  { now },
);

const respond = toNodeHandler(gateway);
const server = createServer((req, res) => {
  if (req.url !== "/arm") return respond(req, res);
  mortal.arm();
  res.end();
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`http://127.0.0.1:${address?.port}\n`);
});

// There is a deadline only if the plan has one.
closeOnSignals(server, gateway, {
  deadlineSeconds: plan.deadlineSeconds ?? Number.POSITIVE_INFINITY,
  onClosed: () => ledger.close(),
});
