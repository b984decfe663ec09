import { createServer } from "node:http";
import { createGateway } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { MODELS } from "./models.ts";

/*
 * A gateway in a process of its own, whose streams have OpenAI's format. Argument: the address of the provider. It sends its
 * port. "start" begins to measure the memory in use, "stop" returns how far it grew at most.
 */
const [baseUrl = ""] = process.argv.slice(2);
const EVERY_MS = 50;

const gateway = createGateway({
  streamFormat: "openai",
  models: {
    [MODELS.streaming]: { family: "seedream" },
    [MODELS.single]: { family: "seedream" },
    [MODELS.links]: { family: "qwen-image" },
  },
  channels: [
    { id: "ark", family: "seedream", apiKey: "channel-key", baseUrl },
    { id: "bailian", family: "qwen-image", apiKey: "channel-key", baseUrl },
  ],
  callers: [{ id: "tester", key: "caller-key" }],
});

/** The bytes that a garbage collection does not free, on the heap and in buffers. */
function measure(): number {
  if (globalThis.gc === undefined) throw new Error("Start this program with --expose-gc.");
  // Buffers that one collection finds are freed by the next one.
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

let before = 0;
let most = 0;
let timer: NodeJS.Timeout | undefined;

process.on("message", (order) => {
  if (order === "start") {
    before = measure();
    most = before;
    timer = setInterval(() => {
      most = Math.max(most, measure());
    }, EVERY_MS);
  } else clearInterval(timer);
  process.send?.(most - before);
});
process.on("disconnect", () => process.exit());

const server = createServer(toNodeHandler(gateway));
server.listen(0, "127.0.0.1", () => process.send?.(server.address()));
