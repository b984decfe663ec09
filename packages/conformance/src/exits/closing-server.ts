import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createGateway } from "@calotype/core";
import { closeOnSignals, jsonFile, toNodeHandler } from "@calotype/node";

/** How the server of this file ends. */
export interface ClosingPlan {
  readonly arkBaseUrl: string;
  readonly deadlineSeconds?: number;
  /** `onClosed` throws. */
  readonly failsToClose?: boolean;
  /** A file with the callers, which are options that can be reloaded. */
  readonly callersFile?: string;
  /** Whether the file is watched. */
  readonly watches?: boolean;
}

const plan: ClosingPlan = JSON.parse(await text(process.stdin));
const gateway = createGateway({
  models: { "seedream-4-0-250828": { family: "seedream" } },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: "channel-canary-5b1e90d7",
      baseUrl: plan.arkBaseUrl,
      modelMapping: { "seedream-4-0-250828": "doubao-seedream-4-0-250828" },
    },
  ],
  callers:
    plan.callersFile === undefined
      ? [{ id: "tester", key: "caller-canary-1f5d7c20" }]
      : jsonFile(plan.callersFile, { watch: plan.watches }),
  logger: {
    warn: () => undefined,
    error: (_fields, message) => {
      if (plan.callersFile !== undefined) process.stderr.write(`logged: ${message}\n`);
    },
  },
});
const server = createServer(toNodeHandler(gateway)).listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`http://127.0.0.1:${address?.port}\n`);
});
closeOnSignals(server, gateway, {
  deadlineSeconds: plan.deadlineSeconds,
  onClosed() {
    if (plan.failsToClose === true) throw new Error("The ledger is broken.");
    process.stderr.write("closed\n");
  },
});
