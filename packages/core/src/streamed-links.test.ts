import { describe, expect, it, vi } from "vitest";
import type { ImageToStore } from "./features/results/store.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { cutEvery } from "./testing/cut-bytes.js";
import {
  CALLER_KEY,
  createPost,
  createTestGateway,
  type Provider,
  type TestGateway,
} from "./testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "./util/json.js";

/** Several images per call, and one. */
const QWEN = "image-2.0-pro";
const SINGLE = "image-max";
const SEEDREAM = "seedream-4-5-251128";
const HELD_BYTES = 50_000;

function createImage(length: number, step: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, index) => (index * step) % 251);
}

const SMALL = createImage(900, 3);
const LARGE = createImage(200_000, 5);
const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const linkOf = (index: number): string => `https://provider.test/${index}.png`;

type Download = (headers: Headers) => Response | Promise<Response>;

const serve =
  (bytes: Uint8Array): Download =>
  () =>
    new Response(ReadableStream.from(cutEvery(bytes, 10_000)));

async function* sendHalf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* cutEvery(bytes.slice(0, bytes.length / 2), 10_000);
  throw new Error("reset");
}

const breakOff: Download = () => new Response(ReadableStream.from(sendHalf(LARGE)));
const gone: Download = () => new Response("gone", { status: 404 });

/** DashScope, with these images in each response, or one in each call of a model that makes one. */
function provide(downloads: readonly Download[]): Provider {
  let calls = 0;
  return ({ url, headers, body }) => {
    const index = /provider\.test\/(\d+)/.exec(url)?.[1];
    if (index !== undefined) return downloads[Number(index)]?.(headers) ?? gone(headers);
    const indexes = body["model"] === SINGLE ? [calls++] : downloads.map((_, at) => at);
    const content = indexes.map((at) => ({ image: linkOf(at) }));
    return Response.json({
      output: { choices: [{ message: { role: "assistant", content } }] },
      usage: { image_count: content.length },
    });
  };
}

function open(provider: Provider, options: Partial<GatewayOptions> = {}): TestGateway {
  return createTestGateway(
    provider,
    {
      models: {
        [QWEN]: { family: "qwen-image" },
        [SINGLE]: { family: "qwen-image" },
        [SEEDREAM]: { family: "seedream" },
      },
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
      ...options,
    },
    { maxHeldImageBytes: HELD_BYTES },
  );
}

const ask = (model: string, n: number): JsonObject => ({
  model,
  n,
  prompt: "a fox",
  response_format: "b64_json",
});
const imagesOf = ({ body }: { readonly body: JsonObject }): readonly JsonObject[] =>
  Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
const withBase64 = (bytes: Uint8Array): object => ({ b64_json: toBase64(bytes), revised_prompt: "" });

/** Reads a response until this many characters have arrived. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, length: number): Promise<string> {
  let text = "";
  while (text.length < length) {
    const { done, value } = await reader.read();
    if (done) break;
    text += Buffer.from(value).toString();
  }
  return text;
}

describe.each([
  { calls: "one call", model: QWEN },
  { calls: "several calls", model: SINGLE },
])("b64_json of $calls of a provider that returns links", ({ model }) => {
  it.each([
    ["large", [LARGE, LARGE, LARGE]],
    ["large and small", [SMALL, LARGE, SMALL]],
    ["small and large", [LARGE, SMALL, LARGE]],
    ["small", [SMALL, SMALL, SMALL]],
  ])("has %s images in order, and one charge", async (_what, images) => {
    const test = open(provide(images.map(serve)));
    const response = await test.post(ask(model, images.length));
    expect(response.status).toBe(200);
    expect(imagesOf(response)).toEqual(images.map(withBase64));
    expect(response.body["extra"]).toEqual({ request_id: "" });
    expect(test.records).toMatchObject([{ status: 200, images: 3, charge: "0.3" }]);
  });

  it("begins while a large image is downloaded", async () => {
    const rest = Promise.withResolvers<void>();
    const download = async function* (): AsyncGenerator<Uint8Array> {
      yield LARGE.slice(0, 100_000);
      await rest.promise;
      yield LARGE.slice(100_000);
    };
    const slow: Download = () => new Response(ReadableStream.from(download()));
    const test = open(provide([slow, serve(SMALL)]));
    const response = await test.gateway.fetch(createPost(ask(model, 2)));
    expect(response.headers.get("content-length")).toBeNull();
    const reader = response.body?.getReader();
    if (reader === undefined) throw new TypeError("There is no body.");
    const start = await readUntil(reader, 100_000);
    // Nothing is settled before the end.
    expect(test.records).toEqual([]);
    rest.resolve();
    const text = start + (await readUntil(reader, Infinity));
    expect(imagesOf({ body: JSON.parse(text) })).toEqual([withBase64(LARGE), withBase64(SMALL)]);
    expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("keeps links that cannot be downloaded, beside large images", async () => {
    const test = open(provide([gone, serve(LARGE), gone]));
    const response = await test.post(ask(model, 3));
    expect(imagesOf(response)).toEqual([
      { url: linkOf(0), revised_prompt: "" },
      withBase64(LARGE),
      { url: linkOf(2), revised_prompt: "" },
    ]);
    const code = "image_download_failed";
    expect(response.body["extra"]).toMatchObject({
      errors: [
        { index: 0, code },
        { index: 2, code },
      ],
    });
    expect(test.records).toMatchObject([{ images: 3, charge: "0.3" }]);
  });

  it("is cut off if the download of a large image breaks off, and is charged", async () => {
    const test = open(provide([serve(SMALL), breakOff]));
    const response = await test.gateway.fetch(createPost(ask(model, 2)));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("The download of the image broke off.");
    expect(test.records).toMatchObject([
      { status: 200, images: 2, charge: "0.2", errorCode: "upstream_invalid_response" },
    ]);
  });

  it("has the whole image if its download breaks off and can be continued", async () => {
    const ranges: (string | null)[] = [];
    const headers = { etag: '"v1"' };
    const download: Download = (request) => {
      const range = request.get("range");
      ranges.push(range);
      if (range === null) return new Response(ReadableStream.from(sendHalf(LARGE)), { headers });
      expect(request.get("if-range")).toBe('"v1"');
      const start = Number(/^bytes=(\d+)-$/.exec(range)?.[1]);
      const rest = { ...headers, "content-range": `bytes ${start}-${LARGE.length - 1}/${LARGE.length}` };
      return new Response(LARGE.slice(start), { status: 206, headers: rest });
    };
    const test = open(provide([download, serve(LARGE)]));
    expect(imagesOf(await test.post(ask(model, 2)))).toEqual([withBase64(LARGE), withBase64(LARGE)]);
    expect(ranges).toContain("bytes=100000-");
    expect(test.records).toMatchObject([{ images: 2 }]);
    expect(test.records[0]).not.toHaveProperty("errorCode");
  });

  it("ends its downloads if the client leaves, and is charged", async () => {
    let isEnded = false;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      try {
        yield LARGE;
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, 1));
          yield LARGE.slice(0, 10_000);
        }
      } finally {
        isEnded = true;
      }
    };
    const download: Download = () => {
      isEnded = false;
      return new Response(ReadableStream.from(endless()));
    };
    const test = open(provide([download, serve(LARGE)]));
    const response = await test.gateway.fetch(createPost(ask(model, 2)));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(isEnded).toBe(true));
    expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]);
    await test.gateway.close();
  });

  it("aborts a download that hangs if the client leaves", async () => {
    let isAborted = false;
    const content = (model === QWEN ? [0, 1] : [0]).map((at) => ({ image: linkOf(at) }));
    const linked = { output: { choices: [{ message: { role: "assistant", content } }] }, usage: {} };
    const test = open(() => new Response(), {
      async fetch(url, { signal }) {
        if (!url.endsWith(".png")) return Response.json(linked);
        const hanging = new ReadableStream<Uint8Array>({
          start(controller) {
            controller.enqueue(LARGE);
            signal?.addEventListener("abort", () => {
              isAborted = true;
              controller.error(signal.reason);
            });
          },
        });
        return new Response(hanging);
      },
    });
    const response = await test.gateway.fetch(createPost(ask(model, 2)));
    const reader = response.body?.getReader();
    if (reader === undefined) throw new TypeError("There is no body.");
    await readUntil(reader, 250_000);
    // A download that did not fit may have been given up before.
    isAborted = false;
    const pending = reader.read();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await reader.cancel();
    await vi.waitFor(() => expect(isAborted).toBe(true));
    await pending;
    await test.gateway.close();
  });

  it("tells the store at once that the download of a large image broke off", async () => {
    const failed: unknown[] = [];
    const store = async ({ body }: ImageToStore): Promise<string> => {
      try {
        for await (const chunk of body) expect(chunk.length).toBeGreaterThan(0);
      } catch (error) {
        failed.push(error);
      }
      throw new Error("The image is not complete.");
    };
    const test = open(provide([breakOff]), { results: { store } });
    await expect((await test.gateway.fetch(createPost(ask(model, 1)))).text()).rejects.toThrow(Error);
    const cause = { message: "The download of the image broke off." };
    await vi.waitFor(() => expect(failed).toMatchObject([{ cause }]));
    await test.gateway.close();
  });

  it("is stored although the client leaves", async () => {
    const stored: number[] = [];
    const store = async ({ id, body }: ImageToStore): Promise<string> => {
      let length = 0;
      for await (const chunk of body) length += chunk.length;
      stored.push(length);
      return `https://store.test/${id}`;
    };
    const test = open(provide([serve(LARGE), serve(LARGE)]), { results: { store } });
    const response = await test.gateway.fetch(createPost(ask(model, 2)));
    await response.body?.cancel();
    await vi.waitFor(() => expect(stored).toEqual([LARGE.length, LARGE.length]));
    await vi.waitFor(() => expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]));
    await test.gateway.close();
  });

  it.each([
    { what: "is not replayed for an idempotency key if it is large", maxResponseBytes: 1_000, status: 409 },
    { what: "is replayed if it is small enough to be stored", maxResponseBytes: 1_000_000, status: 200 },
  ])("$what", async ({ maxResponseBytes, status }) => {
    const test = open(provide([serve(LARGE), serve(LARGE)]), { idempotency: { maxResponseBytes } });
    const key = { "idempotency-key": "one", authorization: `Bearer ${CALLER_KEY}` };
    const first = await test.post(ask(model, 2), key);
    const second = await test.post(ask(model, 2), key);
    expect(first.status).toBe(200);
    expect(second.status).toBe(status);
    expect(second.text === first.text).toBe(status === 200);
    expect(test.records).toHaveLength(1);
  });
});

/** Ark, with an image in base64 and a link. */
const provideMixed = (download: Download): Provider => {
  const data = [{ b64_json: toBase64(LARGE) }, { url: linkOf(0), b64_json: "", size: "2048x2048" }];
  return ({ url, headers }) =>
    url.startsWith("https://provider.test/")
      ? download(headers)
      : Response.json({ created: 1, data, usage: { generated_images: 2 } });
};

describe("a link among long base64", () => {
  it("becomes base64 while it is downloaded", async () => {
    const test = open(provideMixed(serve(LARGE)));
    const response = await test.post({ ...ask(SEEDREAM, 2), stream: false });
    expect(imagesOf(response).map((image) => image["b64_json"])).toEqual([toBase64(LARGE), toBase64(LARGE)]);
    expect(imagesOf(response)[1]).toMatchObject({ size: "2048x2048" });
    expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("that breaks off cuts the response off; its images are charged, and the channel is not to blame", async () => {
    const test = open(provideMixed(breakOff));
    const response = await test.gateway.fetch(createPost(ask(SEEDREAM, 2)));
    await expect(response.text()).rejects.toThrow("The download of the image broke off.");
    expect(test.records).toMatchObject([
      { images: 2, charge: "0.2", errorCode: "upstream_invalid_response" },
    ]);
    expect(test.gateway.status().channels).toMatchObject([{ state: "ready" }, {}]);
  });
});
