import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { open, responseTo } from "../support/http-client.js";
import { createFolder } from "../support/stored-files.js";
import { isFull } from "../support/test-run.js";

const PROGRAM = fileURLToPath(new URL("gateway-process.ts", import.meta.url));
const MIB = 1024 * 1024;
/** Far below an image. JSON holds up to 4 MiB of images before it begins. */
const ALLOWED = 8 * MIB;
/** What is held of base64 in case the store fails. */
const NET = 16 * MIB;

/** 30 MB whose base64 has no padding inside: the length is divisible by 3. */
const IMAGE = Buffer.alloc(30_000_000, "calotype");
IMAGE.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const HASH = createHash("sha256").update(IMAGE).digest("hex");
const WRITTEN = Buffer.from(IMAGE.toString("base64"));
const STEP = 64 * 1024;

/** Writes the image in chunks, as fast as the gateway reads it. */
async function writeImage(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length && !response.destroyed; at += STEP) {
    await new Promise((resolve) => {
      response.write(bytes.subarray(at, at + STEP), resolve);
    });
  }
}

const USAGE = '"usage":{"generated_images":1,"output_tokens":1,"total_tokens":1}';
const EVENT = "image_generation.partial_succeeded";

/** Ark, DashScope, and the images behind their links. */
async function respond(path: string, body: string, response: ServerResponse, origin: string): Promise<void> {
  const link = `${origin}/image.png`;
  if (path === "/image.png") {
    await writeImage(response, IMAGE);
    return void response.end();
  }
  if (path.includes("generateContent")) {
    const inline = '{"inlineData":{"mimeType":"image/png","data":"';
    response.setHeader("content-type", "application/json");
    response.write(`{"candidates":[{"content":{"parts":[${inline}`);
    await writeImage(response, WRITTEN);
    return void response.end('"}}]},"finishReason":"STOP"}],"usageMetadata":{"totalTokenCount":3}}');
  }
  if (path.includes("multimodal-generation")) {
    const count = Number(/"n":(\d)/.exec(body)?.[1] ?? 1);
    const content = Array.from({ length: count }, () => ({ image: link }));
    return void response.end(
      JSON.stringify({ output: { choices: [{ message: { content } }] }, usage: { image_count: count } }),
    );
  }
  const isBase64 = body.includes('"b64_json"') || body.includes(SERVICE);
  const isStream = body.includes('"stream":true');
  response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
  response.write(isStream ? `event: ${EVENT}\ndata: {"type":"${EVENT}",` : '{"created":1,"data":[{');
  response.write(isBase64 ? '"b64_json":"' : `"url":"${link}`);
  if (isBase64) await writeImage(response, WRITTEN);
  const end = `event: image_generation.completed\ndata: {"type":"image_generation.completed",${USAGE}}\n\ndata: [DONE]\n\n`;
  response.end(isStream ? `"}\n\n${end}` : `"}],${USAGE}}`);
}

let origin = "";
const provider = createServer((incoming, response) => {
  let body = "";
  incoming.on("data", (chunk: Buffer) => (body += chunk.toString()));
  incoming.on("end", () => void respond(incoming.url ?? "", body, response, origin));
});

beforeAll(async () => {
  await once(provider.listen(0, "127.0.0.1"), "listening");
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
});
afterAll(() => {
  provider.closeAllConnections();
  provider.close();
});

interface Memory {
  readonly peak: number;
  readonly hashes: readonly string[];
}

const readMemory = async (url: string): Promise<Memory> =>
  (await fetch(`${url}/memory`)).json() as Promise<Memory>;

interface DeliveryWay {
  readonly name: string;
  readonly key: "native" | "openai";
  readonly path?: string;
  readonly body: object;
  /** Default 1. */
  readonly images?: number;
  /** What may be held, in bytes, by the store. Default {@link ALLOWED}. Without a number the store is left out. */
  readonly allowed?: Readonly<Record<string, number>>;
}

const SEEDREAM = { model: "seedream-4-5-251128", prompt: "x" };
const QWEN = { model: "image-2.0-pro", prompt: "x" };
const QWEN_CALLS = { model: "image-max", prompt: "x" };
const CALLS = { model: "seedream-5-0-pro-260628", prompt: "x", n: 2 };
/** A service of the family `openai` sends base64 whatever is asked for. */
const SERVICE = "one-image-per-call";
const SERVICE_CALLS = { model: SERVICE, prompt: "x", n: 2 };
const GEMINI = { model: "gemini-nano-banana-2.1", prompt: "x" };
const BASE64 = { response_format: "b64_json" };
const STREAM = { stream: true };
const WAYS: readonly DeliveryWay[] = [
  { name: "JSON with a link", key: "native", body: SEEDREAM },
  { name: "JSON with base64", key: "native", body: { ...SEEDREAM, ...BASE64 } },
  { name: "a native stream with base64", key: "native", body: { ...SEEDREAM, ...BASE64, ...STREAM } },
  { name: "a native stream with a link", key: "native", body: { ...SEEDREAM, ...STREAM } },
  {
    name: "JSON of /api/v3 with base64",
    key: "native",
    path: "/api/v3/images/generations",
    body: { ...SEEDREAM, ...BASE64 },
  },
  {
    name: "a stream in OpenAI's format with base64",
    key: "openai",
    body: { ...SEEDREAM, ...BASE64, ...STREAM },
  },
  { name: "a stream in OpenAI's format with a link", key: "openai", body: { ...SEEDREAM, ...STREAM } },
  { name: "JSON of family B with a link", key: "native", body: QWEN },
  {
    name: "JSON of family B with base64",
    key: "native",
    body: { ...QWEN, ...BASE64, n: 3 },
    images: 3,
  },
  {
    name: "JSON of several calls of family B with base64",
    key: "native",
    body: { ...QWEN_CALLS, ...BASE64, n: 3 },
    images: 3,
  },
  {
    name: "a stream in OpenAI's format of family B with base64",
    key: "openai",
    body: { ...QWEN, ...BASE64, ...STREAM },
  },
  {
    name: "a stream in OpenAI's format of several calls",
    key: "openai",
    body: { ...CALLS, ...BASE64, ...STREAM },
  },
  {
    name: "JSON of several calls with base64 that becomes links",
    key: "native",
    body: { ...SERVICE_CALLS, response_format: "url" },
    images: 2,
    allowed: { files: 2 * NET + ALLOWED, slow: 2 * NET + ALLOWED },
  },
  {
    name: "JSON of several calls with base64",
    key: "native",
    body: { ...SERVICE_CALLS, ...BASE64 },
    images: 2,
    // Base64 that cannot be read again is held once, in the chunks in which it arrived.
    allowed: { files: 2 * NET + ALLOWED, no: 2 * WRITTEN.length + ALLOWED },
  },
  // Gemini says after an image whether it is a draft. Without a store its base64 is held once, and otherwise as of several calls.
  {
    name: "JSON of Gemini with base64",
    key: "native",
    body: { ...GEMINI, ...BASE64 },
    allowed: { no: WRITTEN.length + ALLOWED, files: NET + ALLOWED },
  },
  {
    name: "a stream in OpenAI's format of Gemini",
    key: "openai",
    body: { ...GEMINI, ...BASE64, ...STREAM },
    allowed: { files: NET + ALLOWED },
  },
  {
    name: "JSON of Gemini with base64 that becomes a link",
    key: "native",
    body: { ...GEMINI, response_format: "url" },
    allowed: { slow: NET + ALLOWED },
  },
];

/** Sends a request, and reads the response; a slow client waits in its middle. Returns the number of its bytes. */
async function request(
  url: string,
  { key, path = "/v1/images/generations", body }: DeliveryWay,
  isSlow: boolean,
): Promise<number> {
  const headers = { authorization: `Bearer ${key}-key`, "content-type": "application/json" };
  const response = await responseTo(open(url, { path, headers }).end(JSON.stringify(body)));
  expect(response.statusCode).toBe(200);
  let bytes = 0;
  let waits = isSlow ? 3 : 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (waits > 0 && waits-- > 0) await pause(60);
  }
  return bytes;
}

interface Measured {
  readonly mib: number;
  readonly isWhole: boolean;
  readonly isStored: boolean;
}

/** One of this number of ways is tried with a slow store. */
const SLOW = isFull() ? 3 : 9;

describe.each(
  [
    { store: "no", ways: WAYS.filter(({ name }) => /family B|several calls|Gemini/.test(name)) },
    { store: "files", ways: WAYS },
    { store: "slow", ways: WAYS.filter(({ allowed }, index) => index % SLOW === 0 || allowed !== undefined) },
  ].map(({ store, ways }) => ({
    store,
    ways: ways.filter(({ allowed = { [store]: 0 } }) => store in allowed),
  })),
)("with $store store", ({ store, ways }) => {
  it("images of 30 MB are never in memory as a whole, also if the client is slow", async () => {
    const plan = JSON.stringify({ baseUrl: origin, store, directory: await createFolder() });
    const child = spawn(process.execPath, ["--expose-gc", PROGRAM, plan], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [port] = await once(createInterface({ input: child.stdout }), "line");
      const url = `http://127.0.0.1:${String(port)}`;
      await request(url, { name: "", key: "native", body: SEEDREAM }, false);
      await readMemory(url);
      const { peak: before } = await readMemory(url);
      const measured: Record<string, Measured> = {};
      for (const way of ways) {
        const bytes = await request(url, way, true);
        const { peak, hashes } = await readMemory(url);
        const { images = 1 } = way;
        const isWhole = !JSON.stringify(way.body).includes("b64_json") || bytes > WRITTEN.length * images;
        const isStored = hashes.length >= images && hashes.every((hash) => hash === HASH);
        measured[way.name] = {
          mib: Math.round((10 * (peak - before)) / MIB) / 10,
          isWhole,
          isStored: isStored || store === "no",
        };
      }
      for (const { name, allowed } of ways) {
        const { mib = Infinity, ...facts } = measured[name] ?? {};
        expect({ name, ...facts, isBounded: mib * MIB < (allowed?.[store] ?? ALLOWED) }).toEqual({
          name,
          isWhole: true,
          isStored: true,
          isBounded: true,
        });
      }
    } finally {
      child.kill("SIGKILL");
    }
  }, 120_000);
});
