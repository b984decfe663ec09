import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { GatewayError } from "./errors.js";
import type { AfterImage } from "./features/results/after-image.js";
import type { ResultsOptions } from "./features/results/results-options.js";
import type { ImageToStore, ResultStore } from "./features/results/store.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { cutEvery } from "./testing/cut-bytes.js";
import { createPost, createTestGateway, type Provider, type TestGateway } from "./testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "./util/json.js";

const SEEDREAM = "seedream-4-5-251128";
const SINGLE = "seedream-5-0-pro-260628";
const QWEN = "image-2.0-pro";
const CREATED = 1_763_683_200;
const encoder = new TextEncoder();

/** A PNG by its first bytes. */
function createPng(length: number, seed = 0): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from({ length }, (_, index) => (index * 31 + seed) % 256);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return bytes;
}

const SMALL = createPng(1_000);
const LARGE = createPng(200_000, 7);

interface MemoryStore extends ResultStore {
  readonly images: Map<string, { readonly bytes: Buffer; readonly contentType: string }>;
}

/** A store in memory. It keeps nothing of an image that is not complete. */
function createStore(put?: (image: ImageToStore) => Promise<void>): MemoryStore {
  const images: MemoryStore["images"] = new Map();
  return {
    images,
    link: ({ id }) => `https://store.test/${id}`,
    put:
      put ??
      (async ({ id, contentType, body }) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of body) chunks.push(chunk.slice());
        images.set(id, { bytes: Buffer.concat(chunks), contentType });
      }),
  };
}

interface StoringOptions extends Omit<Partial<GatewayOptions>, "results"> {
  readonly results?: Partial<ResultsOptions> | undefined;
}

function open(
  provider: Provider,
  store: ResultStore,
  { results, ...options }: StoringOptions = {},
): TestGateway {
  return createTestGateway(provider, {
    models: {
      [SEEDREAM]: { family: "seedream" },
      [SINGLE]: { family: "seedream" },
      "image-2.0*": { family: "qwen-image", edits: true },
    },
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    ...options,
    results: { store, timeoutSeconds: 0.2, ...results },
  });
}

type Format = "url" | "b64_json";

const link = (index: number): string => `https://provider.test/${index}.png`;
const item = (format: Format, index: number, bytes: Uint8Array): JsonObject =>
  format === "url" ? { url: link(index) } : { b64_json: Buffer.from(bytes).toString("base64") };

/** A body in small chunks. */
const inChunks = (text: string, contentType: string): Response =>
  new Response(ReadableStream.from(cutEvery(encoder.encode(text), 10_000)), {
    headers: { "content-type": contentType },
  });

/** Responds like the providers, with these images. Links lead to the same bytes. */
function provide(images: readonly Uint8Array<ArrayBuffer>[]): Provider {
  let made = 0;
  return ({ url, body }) => {
    const file = /provider\.test\/(\d+)/.exec(url)?.[1];
    if (file !== undefined)
      return new Response(ReadableStream.from(cutEvery(images[Number(file)] ?? SMALL, 10_000)));
    const format = body["response_format"] === "b64_json" ? "b64_json" : "url";
    if (url.includes("multimodal-generation")) {
      const content = images.map((_, index) => ({ image: link(index) }));
      return Response.json({
        output: { choices: [{ message: { role: "assistant", content } }] },
        usage: { image_count: images.length },
        request_id: "r",
      });
    }
    const usage = { generated_images: images.length, output_tokens: 100, total_tokens: 100 };
    if (body["stream"] === true) {
      const events = images.map((bytes, index) =>
        toEvent("image_generation.partial_succeeded", {
          image_index: index,
          ...item(format, index, bytes),
          size: "2048x2048",
        }),
      );
      const end = `${toEvent("image_generation.completed", { usage })}data: [DONE]\n\n`;
      return inChunks(events.join("") + end, "text/event-stream");
    }
    const isSingle = body["model"] === SINGLE;
    const index = isSingle ? made++ : 0;
    const data = isSingle
      ? [{ ...item(format, index, images[index] ?? SMALL), size: "1x1" }]
      : images.map((bytes, at) => ({ ...item(format, at, bytes), size: "2048x2048" }));
    const counted = isSingle ? { generated_images: 1, output_tokens: 100, total_tokens: 100 } : usage;
    return inChunks(
      JSON.stringify({ model: "m", created: CREATED, data, usage: counted }),
      "application/json",
    );
  };
}

function toEvent(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify({ type: name, model: "m", created: CREATED, ...data })}\n\n`;
}

/** The images of a response: of JSON, or of the events of a stream in either format. */
function readImages(text: string): readonly JsonObject[] {
  if (text.startsWith("{")) {
    const body: unknown = JSON.parse(text);
    return isJsonObject(body) && Array.isArray(body["data"]) ? body["data"] : [];
  }
  return text
    .split("\n\n")
    .flatMap((event) => /^data: (\{.*)$/m.exec(event)?.[1] ?? [])
    .map((data): JsonObject => JSON.parse(data))
    .filter((data) => "url" in data || "b64_json" in data);
}

/** What the client has of an image, as one string. */
function pickImage({ url, b64_json, stored_url }: JsonObject): string {
  return JSON.stringify({ url, b64_json, stored_url });
}

/** The same for a stored image. An event of a native stream keeps everything but the link. */
function toShown(
  { link: url, base64: b64_json }: { readonly link: string; readonly base64: string },
  format: Format,
  isNativeStream: boolean,
): string {
  if (format === "url") return pickImage({ url });
  return pickImage(isNativeStream ? { b64_json } : { b64_json, stored_url: url });
}

const isNative = (request: JsonObject, options: Partial<GatewayOptions>): boolean =>
  request["stream"] === true && options.streamFormat === undefined;

const WAYS: readonly (readonly [way: string, request: JsonObject, options: Partial<GatewayOptions>])[] = [
  ["JSON", { model: SEEDREAM, n: 2 }, {}],
  ["JSON of several calls", { model: SINGLE, n: 2 }, {}],
  ["JSON of family B", { model: QWEN, n: 2 }, {}],
  ["a native stream", { model: SEEDREAM, n: 2, stream: true }, {}],
  ["a stream in OpenAI's format", { model: SEEDREAM, n: 2, stream: true }, { streamFormat: "openai" }],
  [
    "a stream in OpenAI's format of several calls",
    { model: SINGLE, n: 2, stream: true },
    { streamFormat: "openai" },
  ],
  [
    "a stream in OpenAI's format of family B",
    { model: QWEN, n: 2, stream: true },
    { streamFormat: "openai" },
  ],
];
const CASES = WAYS.flatMap(([way, request, options]) =>
  (
    [
      ["url", SMALL],
      ["url", LARGE],
      ["b64_json", SMALL],
      ["b64_json", LARGE],
    ] as const
  ).map(([format, bytes]) => ({ way, request, options, format, bytes })),
);

describe("a results store", () => {
  it.each(CASES)(
    "keeps the images of $way ($format, $bytes.length bytes)",
    async ({ request, options, format, bytes }) => {
      const store = createStore();
      const images = [bytes, createPng(bytes.length, 9)];
      const { post, records } = open(provide(images), store, options);
      const { status, text } = await post({ prompt: "a fox", response_format: format, ...request });

      expect(status).toBe(200);
      const sent = readImages(text);
      expect(sent).toHaveLength(2);
      expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
      expect(new Set(records[0]?.stored)).toEqual(new Set(store.images.keys()));
      expect([...store.images.values()].map(({ contentType }) => contentType)).toEqual([
        "image/png",
        "image/png",
      ]);
      const isNativeStream = isNative(request, options);
      const stored = [...store.images].map(([id, image]) => ({
        link: `https://store.test/${id}`,
        base64: image.bytes.toString("base64"),
      }));
      const originals = images.map((original) => Buffer.from(original).toString("base64"));
      expect(new Set(stored.map(({ base64 }) => base64))).toEqual(new Set(originals));
      const expected = stored.map((image) => toShown(image, format, isNativeStream));
      expect(new Set(sent.map(pickImage))).toEqual(new Set(expected));
    },
  );

  it.each(CASES)(
    "that fails costs neither the image nor the response of $way ($format, $bytes.length bytes)",
    async ({ request, options, format, bytes }) => {
      const store = createStore(() => Promise.reject(new Error("The disk is full.")));
      const images = [bytes, createPng(bytes.length, 9)];
      const { post, records, logs } = open(provide(images), store, options);
      const { status, text } = await post({ prompt: "a fox", response_format: format, ...request });

      expect(status).toBe(200);
      const sent = readImages(text);
      expect(sent).toHaveLength(2);
      expect(
        sent.every((image) =>
          format === "url"
            ? String(image["url"]).startsWith("https://provider.test/")
            : typeof image["b64_json"] === "string",
        ),
      ).toBe(true);
      expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
      expect(records[0]).not.toHaveProperty("stored");
      const failures = logs.filter(({ message }) => message === "The image could not be stored.");
      const line = { fields: { requestId: records[0]?.id } };
      expect(failures).toMatchObject([line, line]);
      const isNativeStream = isNative(request, options);
      expect(text.match(/image_not_stored/g) ?? []).toHaveLength(isNativeStream ? 0 : 2);
    },
  );

  it.each(CASES.filter(({ bytes }) => bytes === LARGE))(
    "that hangs costs a bounded wait ($way, $format)",
    async ({ request, options, format, bytes }) => {
      let aborted = 0;
      const store = createStore(async ({ signal }) => {
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
        aborted++;
        throw new Error("aborted");
      });
      const { post, records } = open(provide([bytes, bytes]), store, options);
      const began = performance.now();
      const { status, text } = await post({ prompt: "a fox", response_format: format, ...request });
      expect(performance.now() - began).toBeLessThan(10_000);
      expect(status).toBe(200);
      expect(readImages(text)).toHaveLength(2);
      expect(records).toMatchObject([{ images: 2 }]);
      await vi.waitFor(() => expect(aborted).toBe(2));
    },
  );

  it("is not used on native endpoints, unless the option says so", async () => {
    const body = { model: SEEDREAM, prompt: "a fox" };
    const store = createStore();
    const without = await open(provide([SMALL]), store).postNative(body);
    expect(without.text).toContain(link(0));
    expect(store.images.size).toBe(0);

    const native = await open(provide([SMALL]), store, { results: { native: true } }).postNative(body);
    const [id = ""] = store.images.keys();
    expect(native.text).toBe(without.text.replace(link(0), `https://store.test/${id}`));
  });

  it.each([SMALL, LARGE])("keeps the base64 of a native response, which stays as it is", async (bytes) => {
    const body = { model: SEEDREAM, prompt: "a fox", response_format: "b64_json" };
    const store = createStore();
    const without = await open(provide([bytes]), createStore()).postNative(body);
    const native = await open(provide([bytes]), store, { results: { native: true } }).postNative(body);
    expect(native.text === without.text).toBe(true);
    expect([...store.images.values()].map((image) => image.bytes.equals(bytes))).toEqual([true]);
  });

  it("may be a function that returns the link", async () => {
    const stored: ImageToStore[] = [];
    const { post, records, gateway } = open(provide([SMALL]), createStore(), {
      results: {
        store: async (image) => {
          stored.push(image);
          for await (const chunk of image.body) expect(chunk.length).toBeGreaterThan(0);
          return `https://cdn.test/${image.id}.png`;
        },
      },
    });
    const { body } = await post({ model: SEEDREAM, prompt: "a fox" });
    const { id = "" } = stored[0] ?? {};
    expect(body["data"]).toEqual([{ url: `https://cdn.test/${id}.png`, size: "2048x2048" }]);
    expect(records).toMatchObject([{ stored: [id] }]);
    await expect(gateway.openImage(id)).rejects.toThrow("its store cannot read what it has stored");
  });

  it("gets the images of a client that leaves", async () => {
    const store = createStore();
    const { gateway, records } = open(provide([LARGE, LARGE]), store, { streamFormat: "openai" });
    const response = await gateway.fetch(
      createPost({ model: SEEDREAM, prompt: "a fox", n: 2, stream: true, response_format: "b64_json" }),
    );
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(store.images.size).toBe(2));
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2, stored: [...store.images.keys()] }]));
  });

  it.each([
    ["JSON", {}, "application/json"],
    ["a stream", { stream: true }, "text/event-stream"],
  ])("keeps nothing of an image that breaks off, and learns it at once: %s", async (_what, fields, type) => {
    const failed: unknown[] = [];
    const store = createStore(async ({ body }) => {
      try {
        for await (const chunk of body) expect(chunk.length).toBeGreaterThan(0);
      } catch (error) {
        failed.push(error);
        throw error;
      }
    });
    const image = { b64_json: Buffer.from(LARGE).toString("base64") };
    const event = { type: "image_generation.partial_succeeded", image_index: 0, ...image };
    const text =
      "stream" in fields ? `data: ${JSON.stringify(event)}\n\n` : JSON.stringify({ data: [image] });
    const broken = async function* (): AsyncGenerator<Uint8Array> {
      yield* cutEvery(encoder.encode(text.slice(0, 150_000)), 10_000);
      await pause(1);
      throw new Error("reset");
    };
    const { gateway } = open(
      () => new Response(ReadableStream.from(broken()), { headers: { "content-type": type } }),
      store,
    );
    const response = await gateway.fetch(
      createPost({ model: SEEDREAM, prompt: "a fox", response_format: "b64_json", ...fields }),
    );
    await expect(response.text()).rejects.toThrow(Error);
    await vi.waitFor(() => expect(failed).toMatchObject([{ cause: { cause: { message: "reset" } } }]));
  });
});

/** Adds a label to PNGs. */
const label: AfterImage = async (image) => {
  if (image.contentType !== "image/png") throw new TypeError(`${image.contentType} is not image/png.`);
  return Uint8Array.from([...(await image.bytes()), 1, 2, 3]);
};
const labelled = (bytes: Uint8Array): Buffer => Buffer.from([...bytes, 1, 2, 3]);

describe("afterImage", () => {
  it.each(CASES)(
    "changes the images of $way ($format, $bytes.length bytes)",
    async ({ request, options, format, bytes }) => {
      const store = createStore();
      const { post } = open(provide([bytes, bytes]), store, { ...options, afterImage: label });
      const { text } = await post({ prompt: "a fox", response_format: format, ...request });
      const sent = readImages(text);
      expect(sent).toHaveLength(2);
      expect([...store.images.values()].every((image) => image.bytes.equals(labelled(bytes)))).toBe(true);
      expect(store.images.size).toBe(2);
      const isChanged = (image: JsonObject): boolean =>
        format === "url"
          ? String(image["url"]).startsWith("https://store.test/")
          : image["b64_json"] === labelled(bytes).toString("base64");
      expect(sent.every(isChanged)).toBe(true);
    },
  );

  it.each(CASES)(
    "refuses one image of $way ($format, $bytes.length bytes), which is charged",
    async ({ request, options, format, bytes }) => {
      const store = createStore();
      let seen = 0;
      const { post, records } = open(provide([bytes, bytes]), store, {
        ...options,
        afterImage: () => {
          if (seen++ === 0) throw new GatewayError("request_refused", "Not this one.");
        },
      });
      const { status, text } = await post({ prompt: "a fox", response_format: format, ...request });
      expect(status).toBe(200);
      expect(readImages(text)).toHaveLength(1);
      expect(store.images.size).toBe(1);
      expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
      expect(text.match(/Not this one\./g)).toHaveLength(1);
    },
  );

  it("that refuses every image is an error, and the images are charged", async () => {
    const { post, records } = open(provide([SMALL]), createStore(), {
      afterImage: () => {
        throw new GatewayError("request_refused", "Not this one.", { status: 451 });
      },
    });
    const response = await post({ model: SEEDREAM, prompt: "a fox" });
    expect(response).toMatchObject({ status: 451, body: { error: { message: "Not this one." } } });
    expect(records).toMatchObject([{ images: 1, charge: "0.1" }]);
  });

  it("knows the request", async () => {
    const seen: unknown[] = [];
    const { post } = open(provide([SMALL]), createStore(), {
      afterImage: ({ size }, call) => void seen.push({ size, ...call }),
    });
    const { headers } = await post({ model: SEEDREAM, prompt: "a fox" });
    expect(seen).toEqual([
      {
        size: "2048x2048",
        id: headers.get("x-request-id"),
        caller: "me",
        model: SEEDREAM,
        operation: "generate",
        prompt: "a fox",
        index: 0,
      },
    ]);
  });

  it.each<[string, JsonObject, Partial<GatewayOptions>, readonly number[]]>([
    ["one call", { model: SEEDREAM, n: 3 }, {}, [0, 1, 2]],
    ["a stream", { model: SEEDREAM, n: 3, stream: true }, {}, [0, 1, 2]],
    ["several calls", { model: SINGLE, n: 3 }, {}, [0, 1, 2]],
    [
      "several calls, as a stream",
      { model: SINGLE, n: 3, stream: true },
      { streamFormat: "openai" },
      [0, 1, 2],
    ],
  ])("knows the index of each image of %s", async (_what, fields, options, indexes) => {
    const seen = new Map<number, number>();
    const images = [SMALL, createPng(1_100), createPng(1_200)];
    const provider = provide(images);
    let calls = 0;
    const { post } = open(
      async (call) => {
        const response = provider(call);
        // The first of several calls ends last.
        if (calls++ === 0) await pause(20);
        return response;
      },
      createStore(),
      {
        ...options,
        async afterImage(image, { index }) {
          seen.set((await image.bytes()).length, index);
        },
      },
    );
    await post({ prompt: "a fox", response_format: "b64_json", ...fields });
    expect(images.map(({ length }) => seen.get(length))).toEqual(indexes);
  });
});
