import { setImmediate } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { GatewayOptions } from "./gateway-options/options.js";
import {
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  NATIVE,
  type Provider,
  type TestGateway,
} from "./testing/test-gateway.js";

const IDLE_MS = 60_000;
/** A response is ended up to two looks late. */
const LOOKS_MS = 500;
const IMAGE = Buffer.alloc(900_000, 7).toString("base64");

const EVENTS = [0, 1, 2].map(
  (index) =>
    `event: image_generation.partial_succeeded\ndata: {"type":"image_generation.partial_succeeded","image_index":${index},"url":"https://x","size":"2048x2048"}\n\n`,
);
const COMPLETED =
  'event: image_generation.completed\ndata: {"type":"image_generation.completed","usage":{"generated_images":3,"output_tokens":9,"total_tokens":9}}\n\ndata: [DONE]\n\n';

const encoder = new TextEncoder();

/** A provider that sends these pieces one by one, as they are read. */
function inPieces(contentType: string, pieces: readonly string[]): Provider {
  return () =>
    new Response(ReadableStream.from(pieces.map((piece) => encoder.encode(piece))), {
      headers: { "content-type": contentType },
    });
}

const streamOf = inPieces("text/event-stream", [...EVENTS, COMPLETED]);
const largeJson = JSON.stringify({ ...ARK_RESPONSE, data: [{ b64_json: IMAGE, size: "2048x2048" }] });
const largeOf = inPieces("application/json", largeJson.match(/[^]{1,30000}/g) ?? []);

/** Family B's links are downloaded and make one complete body of megabytes. */
const dashscope: Provider = ({ url }) =>
  url.includes("multimodal-generation")
    ? Response.json(DASHSCOPE_RESPONSE)
    : new Response(Buffer.from(IMAGE, "base64"), { headers: { "content-type": "image/png" } });

interface Kind {
  readonly kind: string;
  readonly provider: Provider;
  readonly body: object;
  readonly url?: string;
  readonly images: number;
}

const SEEDREAM = { model: "seedream-4-5-251128", prompt: "a kite" };

const KINDS: readonly Kind[] = [
  { kind: "a stream", provider: streamOf, body: { ...SEEDREAM, stream: true }, images: 3 },
  {
    kind: "a native stream",
    provider: streamOf,
    body: { ...SEEDREAM, stream: true },
    url: NATIVE,
    images: 3,
  },
  {
    kind: "a large JSON response",
    provider: largeOf,
    body: { ...SEEDREAM, response_format: "b64_json" },
    images: 1,
  },
  {
    kind: "a large native JSON response",
    provider: largeOf,
    body: { ...SEEDREAM, response_format: "b64_json" },
    url: NATIVE,
    images: 1,
  },
  {
    kind: "a large complete body",
    provider: dashscope,
    body: { model: "image-plus", prompt: "a kite", response_format: "b64_json" },
    images: 1,
  },
];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout", "performance"] });
  return () => vi.useRealTimers();
});

/** Lets the time pass, and all that waits go on. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  for (let turn = 0; turn < 50; turn++) await setImmediate();
}

function send({ gateway }: TestGateway, { body, url }: Pick<Kind, "body" | "url">): Promise<Response> {
  const post = createPost(body);
  return gateway.fetch(url === undefined ? post : new Request(url, post));
}

async function readAll(body: Iterable<unknown> | AsyncIterable<unknown>): Promise<unknown[]> {
  const chunks: unknown[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}

/** Whether the caller, who may have one request at a time, has its slot back. */
async function isFree(test: TestGateway, kind: Kind): Promise<boolean> {
  const response = await send(test, kind);
  await response.body?.cancel();
  return response.status === 200;
}

/** A response whose body begins, and never goes on. */
function hanging(type: string, text: string): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(text)),
  });
  return new Response(body, { headers: { "content-type": type } });
}

describe("a provider that hangs after the client has left", () => {
  it.each([
    ["a stream", { ...SEEDREAM, stream: true }, () => hanging("text/event-stream", EVENTS[0] ?? "")],
    [
      "a large JSON response",
      { ...SEEDREAM, response_format: "b64_json" },
      () => hanging("application/json", largeJson.slice(0, 500_000)),
    ],
  ])("is given up after fifteen minutes: %s", async (_what, body, respond) => {
    let signal: AbortSignal | null | undefined;
    const test = createTestGateway(undefined, {
      channels: [{ id: "ark", family: "seedream", apiKey: "key-of-ark", timeouts: { idleSeconds: 3_600 } }],
      models: { [SEEDREAM.model]: { family: "seedream" } },
      async fetch(_url, init) {
        ({ signal } = init);
        return respond();
      },
    });
    const response = await test.gateway.fetch(createPost(body));
    const reader = response.body?.getReader();
    await reader?.read();
    void reader?.cancel();
    await pass(899_000);
    expect(signal?.aborted).toBe(false);
    await pass(2_000);
    expect(signal?.aborted).toBe(true);
    await test.gateway.close();
  });
});

describe.each(KINDS)("$kind that is not read", (kind) => {
  const start = (options: Partial<GatewayOptions> = {}): TestGateway =>
    createTestGateway(kind.provider, { limits: { concurrent: 1 }, ...options });

  it("is ended after the time, settled, and gives its slot back", async () => {
    const test = start();
    const response = await send(test, kind);
    expect(response.status).toBe(200);

    await pass(IDLE_MS - LOOKS_MS);
    expect(await isFree(test, kind)).toBe(false);

    await pass(3 * LOOKS_MS);
    expect(test.records).toMatchObject([{ status: 200, images: kind.images }]);
    await expect(response.text()).rejects.toThrow("The client read nothing of the response for 60 s.");
    expect(await isFree(test, kind)).toBe(true);
    await test.gateway.close();
  });

  it("is not ended after it was read", async () => {
    const test = start();
    const post = createPost(kind.body);
    const response = await test.gateway.handle(kind.url === undefined ? post : new Request(kind.url, post));
    const end = vi.fn<() => boolean>(() => true);
    response?.onIdle?.(end);
    expect(await readAll(response?.body ?? [])).not.toEqual([]);

    await pass(IDLE_MS + LOOKS_MS);
    expect(end).not.toHaveBeenCalled();
    await test.gateway.close();
  });

  it("is ended although the host has dropped it", async () => {
    const test = start();
    await send(test, kind);

    await pass(IDLE_MS + LOOKS_MS);

    expect(test.records).toMatchObject([{ status: 200, images: kind.images }]);
    await test.gateway.close();
  });

  it("does not keep a gateway from closing", async () => {
    const test = start();
    await send(test, kind);
    const closed = test.gateway.close();

    await pass(IDLE_MS + 2 * LOOKS_MS);

    await closed;
    expect(test.records).toMatchObject([{ status: 200, images: kind.images }]);
  });

  it("is ended after the time of the options", async () => {
    const test = start({ responseIdleSeconds: 5 });
    const response = await send(test, kind);

    await pass(5_000 + LOOKS_MS);

    await expect(response.text()).rejects.toThrow("for 5 s.");
    await test.gateway.close();
  });

  it("is ended after its reader has stopped", async () => {
    const test = start();
    const response = await send(test, kind);
    const reader = response.body?.getReader();
    await reader?.read();
    await pass(IDLE_MS / 2);
    await reader?.read();

    await pass(IDLE_MS + LOOKS_MS);

    expect(test.records).toMatchObject([{ status: 200, images: kind.images }]);
    await expect(reader?.read()).rejects.toThrow("read nothing");
    expect(await isFree(test, kind)).toBe(true);
    await test.gateway.close();
  });

  it("is not ended while it is read slowly but steadily", async () => {
    const test = start();
    const response = await send(test, kind);
    let bytes = 0;
    let reads = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      reads++;
      await pass(IDLE_MS - LOOKS_MS);
    }
    expect(reads).toBeGreaterThan(3);
    expect(bytes).toBeGreaterThan(500);
    expect(test.records).toMatchObject([{ status: 200, images: kind.images }]);
    await test.gateway.close();
  });
});

describe("a reader that waits for the provider", () => {
  it("is not taken for one that does not read, and one sweep serves all readers", async () => {
    const next = Promise.withResolvers<void>();
    const test = createTestGateway(
      () =>
        new Response(ReadableStream.from(twoEvents(next.promise)), {
          headers: { "content-type": "text/event-stream" },
        }),
    );
    const kind = { body: { ...SEEDREAM, stream: true } };
    const responses = await Promise.all([send(test, kind), send(test, kind), send(test, kind)]);
    const texts = responses.map((response) => response.text());
    await pass(3 * IDLE_MS);
    // The gateway's maintenance, the sweep, and the idle time of each read of the provider by this transport.
    expect(vi.getTimerCount()).toBe(2 + responses.length);
    next.resolve();
    expect(await Promise.all(texts)).toEqual(responses.map(() => `${EVENTS[0]}${EVENTS[1]}`));
    await test.gateway.close();
  });

  it("has its own timer on Workers, where a timer ends with the request that created it", async () => {
    vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
    onTestFinished(() => void vi.unstubAllGlobals());
    const test = createTestGateway(streamOf);
    const maintenance = 1;
    for (const count of [1, 2, 3]) {
      await send(test, { body: { ...SEEDREAM, stream: true } });
      await pass(LOOKS_MS);
      expect(vi.getTimerCount()).toBe(maintenance + count);
    }
    await pass(IDLE_MS + 2 * LOOKS_MS);
    expect(test.records).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(maintenance);
    await test.gateway.close();
  });
});

/** Two events, the second when the promise resolves. */
async function* twoEvents(next: Promise<void>): AsyncGenerator<Uint8Array> {
  yield encoder.encode(EVENTS[0]);
  await next;
  yield encoder.encode(EVENTS[1]);
}
