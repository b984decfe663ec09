import { describe, expect, it, vi } from "vitest";
import type { ImageToStore, ResultStore, StoredImage } from "./features/results/store.js";
import { cutEvery } from "./testing/cut-bytes.js";
import { createPost, createTestGateway, type TestGateway } from "./testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "./util/json.js";

/*
 * Several calls of a request whose provider sends base64: each image is stored while it arrives, and read again when the
 * response is written.
 */

const SINGLE = "seedream-5-0-pro-260628";
const encoder = new TextEncoder();

/** A PNG by its first bytes. */
function createPng(seed: number, length = 100_000): Buffer {
  const bytes = Buffer.alloc(length, seed + 1);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, seed]);
  return bytes;
}

const toText = (image: Uint8Array): string =>
  JSON.stringify({
    model: "m",
    created: 1,
    data: [{ b64_json: Buffer.from(image).toString("base64"), size: "1x1" }],
    usage: { generated_images: 1, output_tokens: 9, total_tokens: 9 },
  });

/** A body in chunks. With `error`, it breaks off. */
function inChunks(text: string, error?: Error): Response {
  const body = async function* (): AsyncGenerator<Uint8Array> {
    yield* cutEvery(encoder.encode(text), 60_000);
    await Promise.resolve();
    if (error !== undefined) throw error;
  };
  return new Response(ReadableStream.from(body()), { headers: { "content-type": "application/json" } });
}

interface TestStore extends ResultStore {
  readonly images: Map<string, Buffer>;
  /** Why images were not complete. */
  readonly broken: unknown[];
  opened: number;
}

interface StoreParts {
  /** Called when the whole image was read. */
  readonly end?: (bytes: Buffer) => Promise<void>;
  readonly open?: (bytes: Buffer | undefined) => Promise<StoredImage | undefined>;
}

const openBytes = (bytes: Uint8Array | undefined, byteLength = bytes?.length ?? 0): StoredImage | undefined =>
  bytes && {
    contentType: "image/png",
    byteLength,
    body: ReadableStream.from(cutEvery(bytes, 30_000).map((chunk) => Uint8Array.from(chunk))),
  };

function createStore({ end, open = async (bytes) => openBytes(bytes) }: StoreParts = {}): TestStore {
  const store: TestStore = {
    images: new Map(),
    broken: [],
    opened: 0,
    link: ({ id }) => `https://store.test/${id}`,
    async put({ id, body }: ImageToStore) {
      const chunks: Uint8Array[] = [];
      try {
        for await (const chunk of body) chunks.push(chunk.slice());
      } catch (error) {
        store.broken.push(error);
        throw error;
      }
      await end?.(Buffer.concat(chunks));
      store.images.set(id, Buffer.concat(chunks));
    },
    open(id) {
      store.opened++;
      return open(store.images.get(id));
    },
  };
  return store;
}

type Respond = (call: number) => Response | Promise<Response>;

function start(respond: Respond, store: ResultStore, maxHeldImageBytes = 0): TestGateway {
  let calls = 0;
  return createTestGateway(
    () => respond(calls++),
    {
      models: { [SINGLE]: { family: "seedream" } },
      billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
      results: { store, timeoutSeconds: 0.2 },
      streamFormat: "openai",
    },
    { maxHeldImageBytes },
  );
}

const request = (n: number, format = "b64_json"): JsonObject => ({
  model: SINGLE,
  prompt: "a fox",
  n,
  response_format: format,
});
const imagesOf = ({ body }: { readonly body: JsonObject }): readonly JsonObject[] =>
  Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
const base64Of = (image: Buffer): string => image.toString("base64");

/** Responds to the calls in the reverse order. */
function reversed(images: readonly Buffer[]): Respond {
  const turns = images.map(() => Promise.withResolvers<void>());
  turns.at(-1)?.resolve();
  return async (call) => {
    await turns[call]?.promise;
    turns[call - 1]?.resolve();
    return inChunks(toText(images[call] ?? Buffer.alloc(0)));
  };
}

describe("base64 of several calls", () => {
  const images = [0, 1, 2].map((seed) => createPng(seed));

  it.each([
    { held: 0, opened: 3 },
    // The first image that was stored fits.
    { held: 100_000, opened: 2 },
    { held: 4_000_000, opened: 0 },
  ])(
    "is read from the store in the order of the calls, if it does not fit into $held bytes",
    async ({ held, opened }) => {
      const store = createStore();
      const { post, records } = start(reversed(images), store, held);
      const response = await post(request(3));
      expect(response.status).toBe(200);
      const stored = [...store.images];
      expect(imagesOf(response).map(({ b64_json, size }) => [b64_json, size])).toEqual(
        images.map((image) => [base64Of(image), "1x1"]),
      );
      expect(imagesOf(response).map(({ stored_url: url }) => url)).toEqual(
        images.map((image) => `https://store.test/${stored.find(([, bytes]) => bytes.equals(image))?.[0]}`),
      );
      expect(response.body).toMatchObject({ model: SINGLE, created: 1, usage: { generated_images: 3 } });
      expect(response.body).not.toHaveProperty("extra");
      expect(store.opened).toBe(opened);
      expect(records).toMatchObject([{ images: 3, charge: "0.3", status: 200 }]);
    },
  );

  it("is not held by a client that asked for links", async () => {
    const store = createStore();
    const { post } = start(reversed(images), store);
    const response = await post(request(3, "url"));
    const urls = imagesOf(response).map(({ url }) => String(url).slice("https://store.test/".length));
    expect(urls.map((id) => store.images.get(id)?.[8])).toEqual([0, 1, 2]);
    expect(response.text.length).toBeLessThan(1_000);
    expect(store.opened).toBe(0);
  });

  it("is held if the response is kept for a repeat", async () => {
    const store = createStore();
    const { gateway, calls } = start((call) => inChunks(toText(createPng(call, 50_000))), store);
    const post = (): Promise<Response> => gateway.fetch(createPost(request(2), { "idempotency-key": "a" }));
    const texts = [await (await post()).text(), await (await post()).text()];
    expect(texts[0]).toContain(base64Of(createPng(1, 50_000)));
    expect(texts[1] === texts[0]).toBe(true);
    expect([calls.length, store.opened]).toEqual([2, 0]);
  });
});

describe("one of several calls", () => {
  const images = [0, 1, 2].map((seed) => createPng(seed));

  it.each<[string, () => Response, string]>([
    ["is refused", () => Response.json({ error: { code: "No", message: "No." } }, { status: 400 }), "No"],
    ["is no JSON", () => inChunks(`${toText(createPng(1)).slice(0, -1)}]`), "upstream_invalid_response"],
    [
      "breaks off inside its image",
      () => inChunks(toText(createPng(1)).slice(0, 70_000), new Error("reset")),
      "upstream_invalid_response",
    ],
    [
      "ends inside its image",
      () => inChunks(toText(createPng(1)).slice(0, 70_000)),
      "upstream_invalid_response",
    ],
    [
      "has an error after its image",
      () => inChunks(`${toText(createPng(1)).slice(0, -1)},"error":{"code":"Late","message":"No."}}`),
      "Late",
    ],
  ])("that %s costs the others nothing", async (_what, respond, code) => {
    const store = createStore();
    const { post } = start(
      (call) => (call === 1 ? respond() : inChunks(toText(images[call] ?? (images[0] as Buffer)))),
      store,
    );
    const response = await post(request(3));
    expect(response.status).toBe(200);
    expect(imagesOf(response).map(({ b64_json: base64 }) => base64)).toEqual(
      [0, 2].map((call) => base64Of(images[call] as Buffer)),
    );
    expect(response.body["extra"]).toMatchObject({ errors: [{ index: 1, code }] });
  });

  it.each([
    ["JSON", {}],
    ["a stream", { stream: true }],
  ])("keeps nothing of an image that breaks off, and charges the others only: %s", async (_what, fields) => {
    const store = createStore();
    const { post, records } = start((call) => {
      const text = toText(createPng(call));
      return call === 0 ? inChunks(text.slice(0, 70_000), new Error("reset")) : inChunks(text);
    }, store);
    await post({ ...request(2, "url"), ...fields });
    expect(store.broken).toHaveLength(1);
    expect([...store.images.values()].map((image) => image[8])).toEqual([1]);
    expect(records).toMatchObject([{ images: 1, charge: "0.1" }]);
  });
});

describe("a store that has the images of several calls", () => {
  const LARGE = 17 * 1024 * 1024;

  it.each<[string, StoreParts["open"]]>([
    ["has lost an image", () => Promise.resolve(undefined)],
    ["fails", () => Promise.reject(new Error("The disk is gone."))],
    ["hangs", () => new Promise(() => {})],
    ["ends at once", (bytes) => Promise.resolve(openBytes(Buffer.alloc(0), bytes?.length))],
  ])("and %s leaves its link", async (_what, open) => {
    const store = createStore(open && { open });
    const { post, records, logs } = start((call) => inChunks(toText(createPng(call))), store);
    const response = await post(request(2));
    expect(imagesOf(response)).toEqual(
      [0, 1].map(() => ({ size: "1x1", url: expect.stringMatching(/^https:\/\/store\.test\//) })),
    );
    expect(response.body["extra"]).toMatchObject({
      errors: [0, 1].map((index) => ({ index, code: "image_download_failed" })),
    });
    expect(records).toMatchObject([{ images: 2, charge: "0.2", status: 200 }]);
    expect(logs.filter(({ message }) => message.includes("could not be read again"))).toHaveLength(2);
  });

  it("and breaks off inside one breaks the response, which is charged", async () => {
    const store = createStore({
      open: (bytes) => Promise.resolve(openBytes(bytes?.subarray(0, 50_000), bytes?.length)),
    });
    const { gateway, records } = start((call) => inChunks(toText(createPng(call))), store);
    const response = await gateway.fetch(createPost(request(2)));
    await expect(response.text()).rejects.toThrow(Error);
    expect(records).toMatchObject([
      { images: 2, charge: "0.2", status: 200, errorCode: "upstream_invalid_response" },
    ]);
  });

  it.each([
    { what: "is kept, and is sent", length: 100_000, isSent: true },
    { what: "is lost, if it was too large to be held", length: LARGE, isSent: false },
  ])("but failed at the end of one: it $what", async ({ length, isSent }) => {
    const store = createStore({
      end: (bytes) =>
        bytes.length === length && bytes[8] === 0 ? Promise.reject(new Error("full")) : Promise.resolve(),
    });
    const images = [createPng(0, length), createPng(1)];
    const { post, records } = start((call) => inChunks(toText(images[call] as Buffer)), store);
    const response = await post(request(2));
    const sent = imagesOf(response).map(({ b64_json: base64 }) => base64);
    expect(sent).toEqual((isSent ? images : images.slice(1)).map(base64Of));
    expect(response.body["extra"]).toMatchObject({ errors: [{ index: 0, code: "image_not_stored" }] });
    expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("gets them although the client leaves before the response", async () => {
    const store = createStore();
    const second = Promise.withResolvers<void>();
    const { gateway, records } = start(async (call) => {
      if (call === 1) await second.promise;
      return inChunks(toText(createPng(call)));
    }, store);
    const leaving = new AbortController();
    const post = createPost(request(2));
    const response = gateway.fetch(new Request(post, { signal: leaving.signal }));
    await vi.waitFor(() => expect(store.images.size).toBe(1));
    leaving.abort();
    second.resolve();
    await (await response).body?.cancel();
    expect(store.images.size).toBe(2);
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2, charge: "0.2" }]));
  });

  it("is not read to the end for a client that leaves during the response", async () => {
    let ended = 0;
    const store = createStore({
      async open(bytes = Buffer.alloc(0)) {
        const body = async function* (): AsyncGenerator<Uint8Array> {
          try {
            yield* cutEvery(bytes, 1_000).map((chunk) => Uint8Array.from(chunk));
          } finally {
            ended++;
          }
        };
        return { contentType: "image/png", byteLength: bytes.length, body: body() };
      },
    });
    const { gateway, records } = start((call) => inChunks(toText(createPng(call))), store);
    const response = await gateway.fetch(createPost(request(2)));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2, charge: "0.2" }]));
    await vi.waitFor(() => expect(ended).toBe(store.opened));
    expect(store.opened).toBeLessThan(2);
  });
});
