import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { gemini } from "../../families/gemini/gemini.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { cutEvery } from "../../testing/cut-bytes.js";
import { createPost, createTestGateway, type TestGateway } from "../../testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { ImageToStore, ResultStore } from "./store.js";

const MODEL = "gemini-nano-banana-2.1";
const MIB = 1024 * 1024;

/** A PNG of 1280x720 by its first bytes. */
function createPng(seed: number, length: number): Buffer {
  const bytes = Buffer.alloc(length, Buffer.from([seed + 1, 7, 255, seed, 62]));
  bytes.set(Buffer.from("iVBORw0KGgoAAAANSUhEUgAABQAAAALQCAYAAAB", "base64"));
  return bytes;
}

const part = (image: Buffer, rest: JsonObject = {}): JsonObject => ({
  inlineData: { mimeType: "image/png", data: image.toString("base64") },
  ...rest,
});

const toText = (...parts: readonly JsonObject[]): string =>
  JSON.stringify({
    candidates: [{ content: { parts }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 1130, totalTokenCount: 1133 },
  });

/** Sends a text in chunks, and calls a function when this share of it has been read. */
function respond(text: string, at?: number, onShare?: () => void | Promise<void>): Response {
  const chunks = cutEvery(Buffer.from(text), 60_000);
  const body = async function* (): AsyncGenerator<Uint8Array> {
    for (const [index, chunk] of chunks.entries()) {
      if (at !== undefined && index === Math.floor(chunks.length * at)) await onShare?.();
      yield chunk;
      await Promise.resolve();
    }
  };
  return new Response(ReadableStream.from(body()), { headers: { "content-type": "application/json" } });
}

/** What a store has, and how many bytes of images that are not complete it has read. */
class MemoryStore implements ResultStore {
  readonly images = new Map<string, Buffer>();
  arrivedBytes = 0;
  begun = 0;
  running = 0;
  /** Called for each chunk. */
  onChunk: (image: ImageToStore) => void | Promise<void> = () => {};
  open?: NonNullable<ResultStore["open"]>;

  constructor({ isReadable }: { readonly isReadable: boolean }) {
    if (!isReadable) return;
    this.open = async (id) => {
      const bytes = this.images.get(id);
      return (
        bytes && { contentType: "image/png", byteLength: bytes.length, body: ReadableStream.from([bytes]) }
      );
    };
  }

  link({ id }: { readonly id: string }): string {
    return `https://store.test/${id}`;
  }

  async put(image: ImageToStore): Promise<void> {
    this.begun++;
    this.running++;
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of image.body) {
        await this.onChunk(image);
        this.arrivedBytes += chunk.length;
        chunks.push(chunk.slice());
      }
      this.images.set(image.id, Buffer.concat(chunks));
    } finally {
      this.running--;
    }
  }
}

function start(
  provider: () => Response,
  store: ResultStore,
  options: Partial<GatewayOptions> = {},
): TestGateway {
  return createTestGateway(provider, {
    families: [gemini],
    models: { [MODEL]: { family: "gemini" } },
    channels: [{ id: "google", family: "gemini", apiKey: "key-of-google" }],
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    results: { store },
    ...options,
  });
}

const request = { model: MODEL, prompt: "a fox" };
const imagesOf = ({ body }: { readonly body: JsonObject }): readonly JsonObject[] =>
  Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];
const base64Of = (image: Buffer): string => image.toString("base64");

/** The bytes behind an image of a response: its base64, or the image of its link. */
function bytesOf(image: JsonObject | undefined, { images }: MemoryStore): Buffer {
  const { b64_json: base64, url, stored_url: storedUrl } = image ?? {};
  const stored = images.get(String(url ?? storedUrl).slice("https://store.test/".length));
  if (typeof base64 !== "string") return stored ?? Buffer.alloc(0);
  const bytes = Buffer.from(base64, "base64");
  if (stored !== undefined && !stored.equals(bytes)) throw new TypeError("Another image is stored.");
  return bytes;
}

/** The images of OpenAI's events. */
function eventsOf(text: string): readonly JsonObject[] {
  return text
    .split("\n\n")
    .filter((event) => event.includes('"b64_json"') || event.includes('"url"'))
    .map((event) => JSON.parse(event.slice(event.indexOf("data: ") + 6)) as JsonObject);
}

describe("base64 of Gemini with a store", () => {
  it.each([
    ["url", false],
    ["b64_json", true],
  ] as const)("is stored while it arrives: %s", async (format, isReadable) => {
    const store = new MemoryStore({ isReadable });
    const image = createPng(0, 3_000_000);
    let storedBefore = 0;
    const { post } = start(
      () => respond(toText(part(image)), 0.9, () => void (storedBefore = store.arrivedBytes)),
      store,
    );
    const response = await post({ ...request, response_format: format });
    expect(storedBefore).toBeGreaterThan(2_500_000);
    expect(bytesOf(imagesOf(response)[0], store).equals(image)).toBe(true);
    expect(store.images.size).toBe(1);
  });

  it.each(["url", "b64_json"])("is not stored as a draft: %s", async (format) => {
    const store = new MemoryStore({ isReadable: true });
    const images = [createPng(0, 9 * MIB), createPng(1, 9 * MIB)];
    const [first = {}, second = {}] = images.map((image) => part(image));
    const drafts = [2, 3].map((seed) => part(createPng(seed, 400_000), { thought: true }));
    const { post, records } = start(
      () => respond(toText(drafts[0] ?? {}, first, second, drafts[1] ?? {})),
      store,
    );
    const response = await post({ ...request, response_format: format });
    expect(store.begun).toBe(4);
    expect(imagesOf(response)).toHaveLength(2);
    for (const [at, image] of imagesOf(response).entries()) {
      expect(image).toMatchObject({ size: "1280x720", output_format: "png" });
      expect("b64_json" in image).toBe(format === "b64_json");
      expect(bytesOf(image, store).equals(images[at] ?? Buffer.alloc(0))).toBe(true);
    }
    expect(store.images.size).toBe(2);
    await vi.waitFor(() => expect(store.running).toBe(0));
    expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("is not stored if it is not an image", async () => {
    const store = new MemoryStore({ isReadable: true });
    const image = createPng(0, 300_000);
    const signed = part(image, { thoughtSignature: "A".repeat(300_000) });
    const { post } = start(() => respond(toText({ text: "B".repeat(300_000) }, signed)), store);
    const response = await post({ ...request, response_format: "b64_json" });
    expect(store.begun).toBe(1);
    expect(imagesOf(response)[0]?.["b64_json"] === base64Of(image)).toBe(true);
  });

  it("is stored for eight strings, and held of others", async () => {
    const store = new MemoryStore({ isReadable: true });
    const images = Array.from({ length: 10 }, (_, seed) => createPng(seed, 150_000));
    const { post } = start(() => respond(toText(...images.map((image) => part(image)))), store);
    const delivered = imagesOf(await post({ ...request, response_format: "b64_json" }));
    expect(delivered.map((image) => bytesOf(image, store))).toEqual(images);
    expect(store.images.size).toBe(10);
  });

  it.each([
    ["breaks off", 0.7],
    ["breaks off after an image", 0.97],
  ])("is not stored if the response %s", async (_what, share) => {
    for (const body of [{ n: 1 }, { n: 2 }, { stream: true }]) {
      const store = new MemoryStore({ isReadable: true });
      const text = toText(part(createPng(0, 2_000_000)), part(createPng(1, 100_000)));
      const { post, records } = start(
        () =>
          respond(text, share, () => {
            throw new Error("reset");
          }),
        store,
        { streamFormat: "openai" },
      );
      const { status } = await post({ ...request, ...body });
      expect(status).toBe(502);
      expect(store.begun).toBe(body.n ?? 1);
      await vi.waitFor(() => expect(store.running).toBe(0));
      expect(store.images.size).toBe(0);
      expect(records).toMatchObject([{ images: 0, charge: "0" }]);
    }
  });

  it("is read no faster than the store takes it", async () => {
    const store = new MemoryStore({ isReadable: true });
    const gate = Promise.withResolvers<void>();
    store.onChunk = () => gate.promise;
    let isPast = false;
    const { post } = start(
      () => respond(toText(part(createPng(0, 1_000_000))), 0.5, () => void (isPast = true)),
      store,
    );
    const response = post({ ...request, response_format: "url" });
    await vi.waitFor(() => expect(store.begun).toBe(1));
    await pause(30);
    expect(isPast).toBe(false);
    gate.resolve();
    expect(imagesOf(await response)[0]).toMatchObject({ url: expect.stringContaining("store.test") });
  });

  it.each([
    ["fails", "url"],
    ["fails", "b64_json"],
    ["hangs", "url"],
    ["hangs", "b64_json"],
  ])("is delivered if the store %s in its middle: %s", async (what, format) => {
    for (const body of [{ n: 1 }, { n: 2 }, { stream: true }]) {
      const store = new MemoryStore({ isReadable: true });
      store.onChunk = () => {
        if (store.arrivedBytes < 1_000_000) return undefined;
        if (what === "fails") throw new Error("The disk is full.");
        return new Promise(() => {});
      };
      const image = createPng(0, 4_500_000);
      const { post, records } = start(() => respond(toText(part(image))), store, {
        streamFormat: "openai",
        results: { store, ...(what === "hangs" && { timeoutSeconds: 0.2 }) },
      });
      const response = await post({ ...request, ...body, response_format: format });
      expect(response.status).toBe(200);
      const images = "stream" in body ? eventsOf(response.text) : imagesOf(response);
      expect(images).toHaveLength(body.n ?? 1);
      for (const { b64_json: base64 } of images) expect(base64 === base64Of(image)).toBe(true);
      expect(response.text).toContain('"image_not_stored"');
      expect(records).toMatchObject([{ status: 200, images: body.n ?? 1 }]);
      expect(store.images.size).toBe(0);
    }
  });

  it("is lost if the store fails after more than is held, and charged", async () => {
    const store = new MemoryStore({ isReadable: true });
    store.onChunk = () => {
      if (store.arrivedBytes > 17 * MIB) throw new Error("The disk is full.");
    };
    const { post, records } = start(() => respond(toText(part(createPng(0, 18 * MIB)))), store);
    const { status, text } = await post({ ...request, response_format: "b64_json" });
    expect(status).toBe(502);
    expect(text).toContain("it is lost");
    expect(records).toMatchObject([{ images: 1, charge: "0.1" }]);
  });

  it.each([{ n: 1 }, { n: 2 }, { stream: true }])("has the bytes of the provider: %j", async (body) => {
    const store = new MemoryStore({ isReadable: true });
    // The first is read again from the store.
    const images = [createPng(0, 17 * MIB), createPng(1, 600_001)];
    const { post } = start(() => respond(toText(...images.map((image) => part(image)))), store, {
      streamFormat: "openai",
    });
    for (const format of body.n === 2 ? ["b64_json"] : ["b64_json", "url"]) {
      const response = await post({ ...request, ...body, response_format: format });
      const found = "stream" in body ? eventsOf(response.text) : imagesOf(response);
      expect(found).toHaveLength(2 * (body.n ?? 1));
      for (const [at, image] of found.entries()) {
        expect("b64_json" in image).toBe(format === "b64_json");
        expect(bytesOf(image, store).equals(images[at % 2] ?? Buffer.alloc(0))).toBe(true);
      }
    }
  });

  it.each([{}, { stream: true }])("is stored if the client leaves: %j", async (body) => {
    const store = new MemoryStore({ isReadable: true });
    const image = createPng(0, 17 * MIB);
    const { gateway, records } = start(() => respond(toText(part(image))), store, { streamFormat: "openai" });
    const response = await gateway.fetch(createPost({ ...request, ...body, response_format: "b64_json" }));
    await response.body?.cancel();
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 1, charge: "0.1", status: 200 }]));
    expect([...store.images.values()].map((each) => each.equals(image))).toEqual([true]);
  });

  it("is held for the operator's function, and without a store that can read it", async () => {
    const image = createPng(0, 300_000);
    let arrived = -1;
    for (const afterImage of [undefined, () => undefined]) {
      const store = new MemoryStore({ isReadable: afterImage !== undefined });
      const provider = (): Response =>
        respond(toText(part(image)), 0.9, () => void (arrived = store.arrivedBytes));
      const { post } = start(provider, store, afterImage && { afterImage });
      const response = await post({ ...request, response_format: "b64_json" });
      expect(arrived).toBe(0);
      expect(bytesOf(imagesOf(response)[0], store).equals(image)).toBe(true);
      expect(store.images.size).toBe(1);
    }
  });
});
