import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { createGateway, type UsageRecord } from "@calotype/core";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { toNodeHandler } from "./to-node-handler.js";

const IDLE_MS = 250;
/** More than the buffers of both sockets hold. */
const LARGE = new Uint8Array(24 * 1024 * 1024);
const KEY = "caller-canary-9d0f2a4e";
const BODY = JSON.stringify({ model: "doodle", prompt: "a kite", stream: true });
const HEADERS = {
  authorization: `Bearer ${KEY}`,
  "content-type": "application/json",
  "content-length": String(BODY.length),
};

describe("a client that stops reading without closing", () => {
  it("is disconnected after the limit, and the provider's stream is read to its end and settled", async () => {
    const host = await serve({ idleMs: IDLE_MS }, produce(LARGE, LARGE));
    const response = await ask(host);

    await vi.waitFor(() => expect(host.records).toHaveLength(1));
    await expect(readAtPace(response, Infinity)).rejects.toMatchObject({ code: "ECONNRESET" });
    await host.closeGateway();
  });

  it("is disconnected even after it has read for some time", async () => {
    const silence = pause(2 * IDLE_MS, undefined);
    const host = await serve({ idleMs: IDLE_MS }, produce(LARGE, silence, LARGE, LARGE));
    const response = await ask(host);
    response.resume();
    await pause(IDLE_MS);
    expect(host.records).toEqual([]);

    response.pause();

    await vi.waitFor(() => expect(host.records).toHaveLength(1));
    await expect(readAtPace(response, Infinity)).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("is not disconnected while a pipelined response waits for the one before it", async () => {
    const first = Promise.withResolvers<undefined>();
    const second = produce(LARGE, LARGE);
    const host = await serve({ idleMs: IDLE_MS }, produce(first.promise), second);
    const client = connect(Number(new URL(host.url).port), "127.0.0.1").pause();
    client.on("error", () => {});
    const head = Object.entries({ host: "x", ...HEADERS }).map(([name, value]) => `${name}: ${value}`);
    client.write(`POST /v1/images/generations HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n${BODY}`.repeat(2));

    await pause(6 * IDLE_MS);
    expect(host.records).toEqual([]);

    first.resolve(undefined);
    await vi.waitFor(() => expect(host.records).toHaveLength(2));
  });
});

describe("a client that keeps reading", () => {
  it("is not disconnected, although it needs many times the limit for one chunk of the provider", async () => {
    const idleMs = 1_000;
    const host = await serve({ idleMs }, produce(LARGE));
    const response = await ask(host);
    const start = performance.now();

    expect(await readAtPace(response, LARGE.length / (4 * idleMs))).toBe(LARGE.length);

    expect(performance.now() - start).toBeGreaterThan(3 * idleMs);
  });

  // Over TLS the progress within one write cannot be seen.
  it("gets a large chunk in small writes", async () => {
    const host = await serve({ idleMs: 10_000 }, produce(LARGE));
    const response = await ask(host);

    await vi.waitFor(() => expect(host.buffered()).toBeGreaterThan(0));
    expect(host.buffered()).toBeLessThan(256 * 1024);

    expect(await readAtPace(response, Infinity)).toBe(LARGE.length);
  });

  it("is not disconnected while the provider is silent for longer than the limit", async () => {
    const silence = pause(3_000, undefined);
    const host = await serve({ idleMs: 1_000 }, produce(LARGE, silence, LARGE));

    expect(await readAtPace(await ask(host), Infinity)).toBe(2 * LARGE.length);
  });
});

interface Host {
  readonly url: string;
  readonly records: readonly UsageRecord[];
  /** Bytes written to the last response that the system has not taken. */
  readonly buffered: () => number;
  readonly closeGateway: () => Promise<void>;
}

/** Starts a gateway whose provider responds to each request with one of these streams, until the test ends. */
async function serve(
  { idleMs }: { readonly idleMs: number },
  ...bodies: AsyncIterable<Uint8Array>[]
): Promise<Host> {
  const records: UsageRecord[] = [];
  let last: ServerResponse | undefined;
  let next = 0;
  const gateway = createGateway({
    models: { doodle: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "ark-canary-58d2e7b1" }],
    callers: [{ id: "me", key: KEY }],
    responseIdleSeconds: idleMs / 1000,
    onUsage: (record) => records.push(record),
    fetch: async () =>
      new Response(ReadableStream.from(bodies[next++] ?? []), {
        headers: { "content-type": "text/event-stream" },
      }),
  });
  const handle = toNodeHandler(gateway);
  const server = createServer((req, res) => {
    last = res;
    handle(req, res);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await gateway.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    records,
    buffered: () => last?.writableLength ?? 0,
    closeGateway: () => gateway.close(),
  };
}

/** A response of which nothing is read yet. */
async function ask({ url }: Host): Promise<IncomingMessage> {
  const client = request(`${url}/v1/images/generations`, { method: "POST", agent: false, headers: HEADERS });
  client.end(BODY);
  client.on("error", () => {});
  const [response] = (await once(client, "response")) as [IncomingMessage];
  // The test ends by breaking the connection of a response that it leaves unread.
  response.on("error", () => {});
  return response;
}

/** Reads to the end, no faster than so; gives the number of bytes. */
async function readAtPace(response: IncomingMessage, bytesPerMs: number): Promise<number> {
  let bytes = 0;
  for await (const part of response as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytesPerMs < Infinity) await pause(part.length / bytesPerMs);
  }
  return bytes;
}

/** These chunks, each when it is there. */
async function* produce(...chunks: (Uint8Array | Promise<undefined>)[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    const value = await chunk;
    if (value !== undefined) yield value;
  }
}
