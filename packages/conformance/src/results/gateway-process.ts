import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { createGateway, type GatewayOptions } from "@calotype/core";
import { gemini } from "@calotype/core/families/gemini";
import { openai } from "@calotype/core/families/openai";
import type { ImageToStore, ResultStore } from "@calotype/core/stores";
import { createFileStore, toNodeHandler } from "@calotype/node";

/*
 * A gateway with or without a store of results in a process of its own, so that its memory can be measured. Needs --expose-gc. The
 * argument is a `Plan` as JSON. Prints its port. `/memory` returns the peak of the bytes in use since the last request for
 * it, and the hash of each stored image.
 */
interface Plan {
  readonly baseUrl: string;
  /** `slow`: waits after every fourth chunk, and keeps nothing. */
  readonly store: "no" | "files" | "slow";
  readonly directory: string;
}

const { baseUrl, store, directory }: Plan = JSON.parse(process.argv[2] ?? "{}");
const hashes: string[] = [];

/** Passes an image on to a store, and keeps its hash. */
function withHash(inner: ResultStore): ResultStore {
  return {
    ...inner,
    async put(image) {
      const hash = createHash("sha256");
      const body = async function* (): AsyncGenerator<Uint8Array> {
        for await (const chunk of image.body) {
          hash.update(chunk);
          yield chunk;
        }
      };
      await inner.put({ ...image, body: body() });
      hashes.push(hash.digest("hex"));
    },
  };
}

async function readSlowly({ body }: ImageToStore): Promise<void> {
  let chunks = 0;
  for await (const chunk of body) if (chunk.length > 0 && ++chunks % 4 === 0) await pause(1);
}

const STORES: Record<Plan["store"], () => ResultStore | undefined> = {
  no: () => undefined,
  files: () => createFileStore({ directory }),
  slow: () => ({ put: readSlowly, link: ({ id }) => `https://store.test/${id}` }),
};

const chosen = STORES[store]();
const channel = { apiKey: "channel-key" };
const options: GatewayOptions = {
  models: {
    "seedream-4-5-251128": { family: "seedream" },
    "seedream-5-0-pro-260628": { family: "seedream" },
    "image-2.0-pro": { family: "qwen-image" },
    "image-max": { family: "qwen-image" },
    "gemini-nano-banana-2.1": { family: "gemini" },
    "one-image-per-call": { family: "openai", capabilities: { imagesPerCall: 1 } },
  },
  families: [openai, gemini],
  channels: [
    { id: "google", family: "gemini", baseUrl: `${baseUrl}/v1beta`, ...channel },
    { id: "service", family: "openai", baseUrl: `${baseUrl}/v1`, ...channel },
    { id: "ark", family: "seedream", baseUrl, ...channel },
    { id: "dashscope", family: "qwen-image", baseUrl: `${baseUrl}/api/v1`, ...channel },
  ],
  callers: [
    { id: "native", key: "native-key" },
    { id: "openai", key: "openai-key", streamFormat: "openai" },
  ],
  ...(chosen && { results: { store: withHash(chosen), native: true } }),
};

/** The bytes that are in use, on the heap and in buffers. */
function readBytesInUse(): number {
  globalThis.gc?.();
  // Buffers that one collection finds are freed by the next one.
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

let peak = 0;
/** Two collections take about 20 ms, so most of the time is left for requests. */
function measure(): void {
  peak = Math.max(peak, readBytesInUse());
  setTimeout(measure, 120);
}
measure();

const respond = toNodeHandler(createGateway(options));
const server = createServer((req, res) => {
  if (req.url !== "/memory") return respond(req, res);
  res.end(JSON.stringify({ peak, hashes: hashes.splice(0) }));
  peak = readBytesInUse();
});
await once(server.listen(0, "127.0.0.1"), "listening");
const address = server.address();
process.stdout.write(`${typeof address === "object" && address !== null ? address.port : 0}\n`);
