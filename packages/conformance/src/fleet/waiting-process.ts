import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createGateway } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Redis } from "ioredis";

/** The input of this program: a gateway whose callers may send one request at a time. It prints its address. */
export interface WaitingPlan {
  readonly redisUrl: string;
  readonly prefix: string;
  readonly baseUrl: string;
  readonly callers: readonly { readonly id: string; readonly key: string }[];
}

const { redisUrl, prefix, baseUrl, callers }: WaitingPlan = JSON.parse(await text(process.stdin));
const gateway = createGateway({
  models: { fox: { family: "seedream" } },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: "waiting-canary-5e1c",
      baseUrl,
      modelMapping: { fox: "doubao-seedream-4-0-250828" },
    },
  ],
  callers,
  limits: { concurrent: 1, waitSeconds: 120 },
  waiting: { maxRequests: 2_000, maxRequestsPerCaller: 1_000 },
  admission: createRedisAdmissionStore({
    client: new Redis(redisUrl),
    prefix,
    leaseSeconds: 5,
    deadlineSeconds: 10,
  }),
});
const server = createServer(toNodeHandler(gateway));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`http://127.0.0.1:${address?.port}\n`);
});
