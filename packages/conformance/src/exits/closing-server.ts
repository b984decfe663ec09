import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createGateway } from "@calotype/core";
import { closeOnSignals, toNodeHandler } from "@calotype/node";

/** How the server of this file ends. */
export interface ClosingPlan {
  readonly arkBaseUrl: string;
  readonly deadlineSeconds?: number;
  /** `onClosed` throws. */
  readonly failsToClose?: boolean;
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
  callers: [{ id: "tester", key: "caller-canary-1f5d7c20" }],
  logger: { warn: () => undefined, error: () => undefined },
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
