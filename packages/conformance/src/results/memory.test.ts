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

const PROGRAM = fileURLToPath(new URL("gateway-process.ts", import.meta.url));
const MIB = 1024 * 1024;
/** Two parts of 8 MiB per image. */
const ALLOWED = 16 * MIB;

/** 30 MB whose base64 has no padding inside: the length is divisible by 3. */
const IMAGE = Buffer.alloc(30_000_000, "calotype");
IMAGE.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const HASH = createHash("sha256").update(IMAGE).digest("hex");
const STEP = 60_000;

/** Writes the image in chunks, as fast as the gateway reads it. */
async function writeImage(response: ServerResponse, encoding?: "base64"): Promise<void> {
  for (let at = 0; at < IMAGE.length; at += STEP) {
    const part = IMAGE.subarray(at, at + STEP);
    if (response.destroyed) return;
    await new Promise((resolve) => {
      response.write(encoding === undefined ? part : part.toString(encoding), resolve);
    });
  }
}

const USAGE = '"usage":{"generated_images":1,"output_tokens":1,"total_tokens":1}';
const EVENT = "image_generation.partial_succeeded";

/** Ark, DashScope, and the images behind their links. */
async function respond(path: string, body: string, response: ServerResponse, origin: string): Promise<void> {
  const link = `${origin}/image.png`;
  if (path === "/image.png") {
    await writeImage(response);
    return void response.end();
  }
  if (path.includes("multimodal-generation")) {
    const content = [{ image: link }];
    return void response.end(
      JSON.stringify({ output: { choices: [{ message: { content } }] }, usage: { image_count: 1 } }),
    );
  }
  const isBase64 = body.includes('"b64_json"');
  const isStream = body.includes('"stream":true');
  response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
  response.write(isStream ? `event: ${EVENT}\ndata: {"type":"${EVENT}",` : '{"created":1,"data":[{');
  response.write(isBase64 ? '"b64_json":"' : `"url":"${link}`);
  if (isBase64) await writeImage(response, "base64");
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

interface Way {
  readonly name: string;
  readonly key: "native" | "openai";
  readonly path?: string;
  readonly body: object;
}

const SEEDREAM = { model: "seedream-4-5-251128", prompt: "x" };
const QWEN = { model: "image-2.0-pro", prompt: "x" };
const CALLS = { model: "seedream-5-0-pro-260628", prompt: "x", n: 2 };
const BASE64 = { response_format: "b64_json" };
const STREAM = { stream: true };
const WAYS: readonly Way[] = [
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
    name: "a stream in OpenAI's format of family B with base64",
    key: "openai",
    body: { ...QWEN, ...BASE64, ...STREAM },
  },
  {
    name: "a stream in OpenAI's format of several calls",
    key: "openai",
    body: { ...CALLS, ...BASE64, ...STREAM },
  },
];

/** Sends a request, and reads the response; a slow client waits in its middle. Returns the number of its bytes. */
async function request(
  url: string,
  { key, path = "/v1/images/generations", body }: Way,
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

describe.each([
  { store: "files", ways: WAYS },
  { store: "slow", ways: WAYS.filter((_way, index) => index % 3 === 0) },
])("a store ($store)", ({ store, ways }) => {
  it("takes images of 30 MB that are never in memory as a whole, also if the client is slow", async () => {
    const plan = JSON.stringify({ baseUrl: origin, store, directory: await createFolder() });
    const child = spawn(process.execPath, ["--expose-gc", PROGRAM, plan], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const [port] = await once(createInterface({ input: child.stdout }), "line");
      const url = `http://127.0.0.1:${String(port)}`;
      await request(url, { name: "", key: "native", body: SEEDREAM }, false);
      const { peak: before } = await readMemory(url);
      const measured: Record<string, { readonly mib: number; readonly isStored: boolean }> = {};
      for (const way of ways) {
        const bytes = await request(url, way, true);
        const { peak, hashes } = await readMemory(url);
        const isWhole = !("response_format" in way.body) || bytes > (4 / 3) * IMAGE.length;
        const isStored = isWhole && hashes.length > 0 && hashes.every((hash) => hash === HASH);
        measured[way.name] = { mib: Math.round((10 * (peak - before)) / MIB) / 10, isStored };
      }
      for (const [name, { mib, isStored }] of Object.entries(measured)) {
        expect({ name, isStored, isBounded: mib * MIB < ALLOWED }).toEqual({
          name,
          isStored: true,
          isBounded: true,
        });
      }
    } finally {
      child.kill("SIGKILL");
    }
  }, 60_000);
});
