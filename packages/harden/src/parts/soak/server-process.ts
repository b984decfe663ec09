// A server as an operator writes it, with a page that shows its resources. It needs --expose-gc.
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGateway, createMemoryAdmissionStore, createMemoryLedger } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import type { Sample } from "./growth.ts";
import { CALLER, KEY, MODEL, type ServerPlan } from "./server-plan.ts";

const plan: ServerPlan = JSON.parse(await text(process.stdin));

/** The stores are full after a moment, so that they do not look like a leak. */
const MAX_ENTRIES = 200;

const gateway = createGateway({
  models: { [MODEL]: { family: "seedream" } },
  channels: [
    // The provider fails on purpose, so a second channel is needed.
    { id: "one", family: "seedream", apiKey: "channel-canary-1", baseUrl: plan.providerUrl },
    { id: "two", family: "seedream", apiKey: "channel-canary-2", baseUrl: plan.providerUrl },
  ],
  callers: [{ id: CALLER, key: KEY }],
  billing: { model_details: { [MODEL]: { pricing_mode: "per-request", model_price: "0.25" } } },
  // If requests lose their slots or their bytes in flight, later requests are refused soon.
  limits: { concurrent: 64 },
  maxBytesInFlight: 64 * 1024 * 1024,
  ledger: createMemoryLedger({ maxRecords: MAX_ENTRIES }),
  admission: createMemoryAdmissionStore({ maxResponses: MAX_ENTRIES }),
  onUsage: () => undefined,
  logger: { warn: () => undefined, error: () => undefined },
});

const handle = toNodeHandler(gateway);
const server = createServer((req, res) => {
  if (req.url !== "/sample") return handle(req, res);
  void takeSample().then((sample) => res.end(JSON.stringify(sample)));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.stdout.write(`http://127.0.0.1:${address?.port}\n`);
});

process.once("SIGTERM", () => void end());

/** The resources of the server, and the money that is held. */
export type ServerSample = Omit<Sample, "requests"> & { readonly held: string };

async function takeSample(): Promise<ServerSample> {
  // Twice, because the second collection frees what the first one finalized.
  for (let round = 0; round < 2; round++) {
    globalThis.gc?.();
    await nextTurn();
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const count = (name: string): number => resources.filter((resource) => resource === name).length;
  const { held } = await gateway.usage.balance(CALLER);
  return {
    heapBytes: heapUsed,
    bufferBytes: arrayBuffers,
    residentBytes: rss,
    sockets: count("TCPSocketWrap"),
    timers: count("Timeout"),
    openFiles: process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0,
    held,
  };
}

async function end(): Promise<void> {
  server.close();
  await gateway.close({ deadlineSeconds: 20 });
  server.closeAllConnections();
}
