import { randomBytes } from "node:crypto";
import { channel } from "node:diagnostics_channel";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  OutgoingMessage,
  type RequestListener,
  request,
  type Server,
  ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { createGateway } from "@calotype/core";
import { allowFreeing, type GatewayResponse } from "@calotype/core/adapter";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { sendResponse } from "./send-response.js";
import { toNodeHandler } from "./to-node-handler.js";

const KEY = "caller-canary-58b1c0de";
/** Begins with letters that are frequent in base64. A chunk that ends with them may be the beginning of a key. */
const CHANNEL_KEY = "A9-canary-51d7e4f0";
const SIZES = [40_000, 90_000, 400_000, 1_500_000];

async function listen(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** Starts a provider that makes a different image for each request, and writes it in pieces of any length. */
async function startProvider(images: Map<string, string>): Promise<string> {
  return listen((req, res) => {
    const respond = async (): Promise<void> => {
      const { prompt }: { prompt: string } = JSON.parse(await text(req));
      const image = randomBytes(SIZES[images.size % SIZES.length] ?? 0).toString("base64");
      images.set(prompt, image);
      const body = Buffer.from(
        JSON.stringify({
          model: "ep",
          created: 1,
          data: [{ b64_json: image }],
          usage: { generated_images: 1 },
        }),
      );
      res.writeHead(200, { "content-type": "application/json", "content-length": body.length });
      for (let at = 0; at < body.length; ) {
        const end = at + 1 + ((at * 7_919 + 12_345) % 150_000);
        res.write(body.subarray(at, end));
        at = end;
        if (at % 3 === 0) await pause(1);
      }
      res.end();
    };
    void respond();
  });
}

async function startGateway(provider: string, before?: RequestListener): Promise<string> {
  const gateway = createGateway({
    models: { doodle: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl: `${provider}/api/v3` }],
    callers: [{ id: "me", key: KEY }],
  });
  onTestFinished(() => gateway.close());
  const handle = toNodeHandler(gateway);
  return listen((req, res) => {
    before?.(req, res);
    handle(req, res);
  });
}

/** Requests an image, reads it, sometimes slowly, and returns it. */
async function ask(url: string, prompt: string, path: string, readMs: number): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };
  const outgoing = request(url + path, { method: "POST", headers });
  outgoing.end(JSON.stringify({ model: "doodle", prompt, response_format: "b64_json" }));
  const [incoming]: IncomingMessage[] = (await once(outgoing, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of incoming ?? []) {
    chunks.push(chunk as Buffer);
    if (readMs > 0) await pause(readMs);
  }
  const { data }: { data: { b64_json: string }[] } = JSON.parse(Buffer.concat(chunks).toString());
  return data[0]?.b64_json;
}

const PATHS = ["/v1/images/generations", "/api/v3/images/generations"];

/** Sends many requests at once, and expects the right image for each. */
async function expectOwnImages(url: string, images: Map<string, string>, count: number): Promise<void> {
  const prompts = Array.from({ length: count }, (_, index) => `image ${index}`);
  const came = await Promise.all(
    prompts.map((prompt, index) => ask(url, prompt, PATHS[index % 2] ?? "", index % 5 === 0 ? 2 : 0)),
  );
  expect(came.map((image, index) => image === images.get(prompts[index] ?? ""))).toEqual(
    prompts.map(() => true),
  );
}

it("simultaneous responses have the right bytes, although their chunks are freed when they are written", async () => {
  const images = new Map<string, string>();
  const free = vi.spyOn(ArrayBuffer.prototype, "transfer");
  onTestFinished(() => free.mockRestore());
  const url = await startGateway(await startProvider(images));
  await expectOwnImages(url, images, 60);
  expect(free.mock.calls.length).toBeGreaterThan(100);
});

it("a subscriber of undici can keep the chunks that it got", async () => {
  const watched: Uint8Array[] = [];
  const watch = (message: unknown): void => void watched.push((message as { chunk: Uint8Array }).chunk);
  const chunkReceived = channel("undici:request:bodyChunkReceived");
  chunkReceived.subscribe(watch);
  onTestFinished(() => {
    chunkReceived.unsubscribe(watch);
  });
  const images = new Map<string, string>();
  const url = await startGateway(await startProvider(images));
  await expectOwnImages(url, images, 8);
  expect(watched.length).toBeGreaterThan(8);
  expect(watched.every(({ length }) => length > 0)).toBe(true);
});

type Write = (this: unknown, ...given: unknown[]) => boolean;

/** Replaces `write` by a recorder that keeps each chunk, until the test ends. */
function recordWrites(target: { write: unknown }, kept: Uint8Array[]): void {
  const isOwn = Object.hasOwn(target, "write");
  const write = target.write as Write;
  const record: Write = function (...given) {
    if (given[0] instanceof Uint8Array) kept.push(given[0]);
    return write.apply(this, given);
  };
  target.write = record;
  onTestFinished(() => {
    if (isOwn) target.write = write;
    else Reflect.deleteProperty(target, "write");
  });
}

describe("a recorder can keep the chunks that it got", () => {
  it.each<[string, (kept: Uint8Array[]) => RequestListener | undefined]>([
    ["of a response", (kept) => (_req, res) => recordWrites(res, kept)],
    [
      "of a response, which it wraps after the response has begun",
      (kept) => (_req, res) => {
        const begin = res.writeHead.bind(res) as (...given: unknown[]) => ServerResponse;
        res.writeHead = (...given: unknown[]) => {
          setTimeout(() => recordWrites(res, kept), 2);
          return begin(...given);
        };
      },
    ],
    [
      "of all responses",
      (kept) => {
        recordWrites(ServerResponse.prototype, kept);
        return undefined;
      },
    ],
    [
      "of all outgoing messages",
      (kept) => {
        recordWrites(OutgoingMessage.prototype, kept);
        return undefined;
      },
    ],
    ["of a socket", (kept) => (req) => recordWrites(req.socket, kept)],
  ])("%s", async (_where, install) => {
    const written: Uint8Array[] = [];
    const images = new Map<string, string>();
    const url = await startGateway(await startProvider(images), install(written));
    await expectOwnImages(url, images, 8);
    expect(written.length).toBeGreaterThan(8);
    expect(written.every(({ length }) => length > 0)).toBe(true);
  });
});

it("a chunk whose write failed is not freed", async () => {
  const made: Uint8Array[] = [];
  const ended = Promise.withResolvers<void>();
  async function* produce() {
    for (;;) {
      const chunk = new Uint8Array(64 * 1024);
      allowFreeing(chunk);
      made.push(chunk);
      yield chunk;
    }
  }
  const response: GatewayResponse = {
    status: 200,
    headers: {},
    body: produce(),
  };
  const url = await listen((req, res) => {
    res.on("close", ended.resolve);
    void sendResponse(req, res, response);
  });
  const outgoing = request(url).end();
  outgoing.on("error", () => {});
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  incoming.on("error", () => {});
  // The sockets are full, and the last write is pending.
  await vi.waitFor(async () => {
    const before = made.length;
    await pause(50);
    expect(made.length).toBe(before);
  });
  outgoing.destroy();
  await ended.promise;
  await pause(20);
  expect(made[0]).toHaveLength(0);
  expect(made.at(-1)).toHaveLength(64 * 1024);
});

it.each([
  ["a chunk whose memory is marked", true],
  ["a chunk whose memory may belong to others", false],
])("%s is freed: %s", async (_what, isMarked) => {
  const chunk = new Uint8Array(64 * 1024).fill(7);
  if (isMarked) allowFreeing(chunk);
  async function* produce() {
    yield chunk;
  }
  const response: GatewayResponse = { status: 200, headers: {}, body: produce() };
  const url = await listen((req, res) => void sendResponse(req, res, response));
  const received = new Uint8Array(await (await fetch(url)).arrayBuffer());
  expect(received).toHaveLength(64 * 1024);
  await pause(20);
  expect(chunk).toHaveLength(isMarked ? 0 : 64 * 1024);
});
