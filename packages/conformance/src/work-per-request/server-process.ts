import { createServer } from "node:http";
import type { Socket } from "node:net";
import { PerformanceObserver } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { inspect } from "node:util";
import { getHeapStatistics } from "node:v8";
import { createGateway, hashApiKey } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { createWorkCounter } from "./count-work.ts";
import { createFileFinder, type FileFinder } from "./list-files.ts";
import type { Order } from "./work.ts";

/*
 * A gateway with all features, in a separate process that reports its work and memory. Argument: the address of the
 * provider. It sends its port, and then the reply to each command.
 */
const [baseUrl = ""] = process.argv.slice(2);
const PLENTY = 1_000_000_000;
const MODELS = "seedream-4-5-*";

/** A counted request must not fail, because a line in the log would count as work of every request. */
const failRun = (fields: object, message: string): never => {
  process.stderr.write(`${message}\n${inspect(fields)}\n`);
  process.exit(1);
};

const gateway = createGateway({
  models: { [MODELS]: { family: "seedream" } },
  channels: [
    { id: "ark", family: "seedream", apiKey: "channel-key", baseUrl, modelMapping: { [MODELS]: "ep-*" } },
  ],
  callers: [{ id: "tester", hash: hashApiKey("caller-key"), budget: PLENTY }],
  limits: { requestsPerMinute: PLENTY, imagesPerMinute: PLENTY, concurrent: 1000 },
  billing: {
    model_details: { [MODELS]: { pricing_mode: "per-token", output_token_price: "3.75", decimal_places: 6 } },
    group_ratio: { default: "1.25" },
  },
  onUsage: () => undefined,
  logger: { warn: failRun, error: failRun },
});

const clients = new WeakSet<Socket>();
const counter = createWorkCounter((socket) => clients.has(socket));
let files: FileFinder | undefined;
let collections = 0;
let heapBefore = 0;

const readHeap = (): number => getHeapStatistics().used_heap_size;

/** Waits for the work after a response too. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await nextTurn();
}

function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error("Start this program with --expose-gc.");
  globalThis.gc();
}

async function obey(order: Order): Promise<unknown> {
  await settle();
  switch (order) {
    case "start counting":
      return counter.start();
    case "stop counting":
      return counter.stop();
    case "start listing files":
      files ??= await createFileFinder();
      return files.start();
    case "stop listing files":
      return files?.stop();
    case "start allocating":
      collectGarbage();
      await settle();
      collections = 0;
      heapBefore = readHeap();
      return undefined;
    case "stop allocating": {
      const bytes = readHeap() - heapBefore;
      await settle();
      return collections === 0 ? bytes : undefined;
    }
    case "tell what is held": {
      collectGarbage();
      // Buffers are freed by tasks that run after a garbage collection.
      await settle();
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    }
  }
}

new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ["gc"] });
process.on("message", (order: Order) => {
  void obey(order).then((response) => process.send?.({ response }));
});
process.on("disconnect", () => process.exit());

const server = createServer(toNodeHandler(gateway));
server.keepAliveTimeout = 0;
server.on("connection", (socket) => clients.add(socket));
server.listen(0, "127.0.0.1", () => process.send?.({ response: server.address() }));
