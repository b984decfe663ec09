import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { GatewayError } from "./errors.js";
import type { AfterImage } from "./features/results/after-image.js";
import type { ImageToStore, ResultStore } from "./features/results/store.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { cutEvery } from "./testing/cut-bytes.js";
import {
  createPost,
  createTestGateway,
  NATIVE,
  type Provider,
  type TestGateway,
} from "./testing/test-gateway.js";
import { isJsonObject, type JsonObject } from "./util/json.js";

const SEEDREAM = "seedream-4-5-251128";
const SINGLE = "seedream-5-0-pro-260628";
const QWEN = "image-2.0-pro";
const LINK = "https://provider.test/0.png?a=1&b=2";
const encoder = new TextEncoder();

/** A PNG by its first bytes. Its base64 has `+` and `/`. */
function createPng(length: number): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from({ length }, (_, index) => (index * 31) % 256);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0xfb, 0xef, 0xbe, 0xff]);
  return bytes;
}

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const SMALL = createPng(900);
const MIDDLE = createPng(20_000);
const LARGE = createPng(200_000);

interface TestStore extends ResultStore {
  readonly images: Buffer[];
  /** The number of images that are being stored. */
  running: number;
}

async function readAll({ body }: Pick<ImageToStore, "body">): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk.slice());
  return Buffer.concat(chunks);
}

function createStore(put?: (image: ImageToStore) => Promise<void>): TestStore {
  const store: TestStore = {
    images: [],
    running: 0,
    link: ({ id }) => `https://store.test/${id}`,
    async put(image) {
      store.running++;
      try {
        if (put !== undefined) return await put(image);
        store.images.push(await readAll(image));
      } finally {
        store.running--;
      }
    },
  };
  return store;
}

const failing = (): TestStore => createStore(() => Promise.reject(new Error("The disk is full.")));

function open(provider: Provider, store: ResultStore, options: Partial<GatewayOptions> = {}): TestGateway {
  return createTestGateway(provider, {
    models: {
      [SEEDREAM]: { family: "seedream" },
      [SINGLE]: { family: "seedream" },
      "image-2.0*": { family: "qwen-image" },
    },
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    ...options,
    results: { store, timeoutSeconds: 0.2, native: true },
  });
}

const respond = (text: string, type: string, cut = 10_000): Response =>
  new Response(ReadableStream.from(cutEvery(encoder.encode(text), cut)), {
    headers: { "content-type": type },
  });

const escape = (written: string): string =>
  written.replaceAll("&", "\\u0026").replaceAll("+", "\\u002B").replaceAll("/", "\\/");

interface Provided {
  readonly images: readonly JsonObject[];
  readonly isEscaped?: boolean;
  readonly cut?: number;
  /** The bytes behind a link. */
  readonly link?: () => Response;
}

const IMAGE_EVENT = "image_generation.partial_succeeded";

/** Ark's and DashScope's responses with these images. */
function provide({ images, isEscaped = false, cut, link = () => new Response(SMALL) }: Provided): Provider {
  const write = (value: unknown): string =>
    isEscaped ? escape(JSON.stringify(value)) : JSON.stringify(value);
  const toEvent = (name: string, data: object): string =>
    `event: ${name}\ndata: ${write({ type: name, ...data })}\n\n`;
  return ({ url, body }) => {
    if (url.startsWith("https://provider.test/")) return link();
    const usage = { generated_images: images.length, output_tokens: 9, total_tokens: 9 };
    if (url.includes("multimodal-generation")) {
      const content = images.map((image) => ({ image: image["url"] }));
      const output = { choices: [{ message: { role: "assistant", content } }] };
      return respond(write({ output, usage: { image_count: images.length } }), "application/json", cut);
    }
    if (body["stream"] !== true) {
      return respond(write({ model: "m", created: 1, data: images, usage }), "application/json", cut);
    }
    const events = images.map((image) => toEvent(IMAGE_EVENT, image));
    const end = toEvent("image_generation.completed", { usage });
    return respond(`${events.join("")}${end}data: [DONE]\n\n`, "text/event-stream", cut);
  };
}

const base64Of = (bytes: Uint8Array): JsonObject => ({ b64_json: toBase64(bytes) });
const request = { model: SEEDREAM, prompt: "a fox" };
const label: AfterImage = async (image) => Uint8Array.from([...(await image.bytes()), 1, 2, 3]);
const labelled = (bytes: Uint8Array): Buffer => Buffer.from([...bytes, 1, 2, 3]);
const refuse: AfterImage = () => {
  throw new GatewayError("request_refused", "Not this one.", { status: 451 });
};
const imagesOf = ({ body }: { readonly body: JsonObject }): readonly JsonObject[] =>
  Array.isArray(body["data"]) ? body["data"].filter(isJsonObject) : [];

describe("the images of a provider that escapes characters", () => {
  it.each([
    ["JSON", {}],
    ["a stream", { stream: true }],
  ])("have the store's link on the native endpoint: %s", async (_name, fields) => {
    const store = createStore();
    const test = open(provide({ images: [{ url: LINK }], isEscaped: true }), store);
    const { text } = await test.postNative({ ...request, ...fields });
    expect(text).toContain('"https://store.test/');
    expect(text).not.toContain("provider.test");
    expect(text).toMatch(/"output_tokens":9/);
  });

  it.each([SMALL, MIDDLE, LARGE])("are stored as they are: base64, $length bytes", async (bytes) => {
    for (const cut of [1_000, 9_973, 1_000_000]) {
      const store = createStore();
      const test = open(provide({ images: [base64Of(bytes)], isEscaped: true, cut }), store);
      await test.post({ ...request, response_format: "b64_json" });
      expect(store.images.map((image) => image.equals(bytes))).toEqual([true]);
    }
  });
});

describe("JSON that is labelled as a stream", () => {
  const data = [{ url: LINK, size: "2048x2048" }];
  const mislabelled: Provider = ({ url }) =>
    url === LINK
      ? new Response(LARGE)
      : respond(JSON.stringify({ data, usage: { generated_images: 1 } }), "text/event-stream");

  it.each(["/v1/images/generations", "/api/v3/images/generations"])(
    "is stored as other JSON, and does not skip afterImage: %s",
    async (path) => {
      const store = createStore();
      const test = open(mislabelled, store, { afterImage: label });
      const post = createPost({ ...request, stream: true });
      const response = await test.gateway.fetch(new Request(new URL(path, post.url), post));
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.text()).toContain('"https://store.test/');
      expect(store.images).toEqual([labelled(LARGE)]);
      expect(test.records).toMatchObject([{ images: 1, charge: "0.1" }]);
    },
  );
});

describe("base64 of a native endpoint", () => {
  const sizes = [SMALL, MIDDLE, LARGE];

  it.each(sizes)("is stored, and stays as it is: $length bytes", async (bytes) => {
    const store = createStore();
    const { text } = await open(provide({ images: [base64Of(bytes)] }), store).postNative(request);
    expect(text).toContain(toBase64(bytes));
    expect(store.images.map((image) => image.equals(bytes))).toEqual([true]);
  });

  it.each(sizes)("is what afterImage returned: $length bytes", async (bytes) => {
    for (const stream of [false, true]) {
      const store = createStore();
      const test = open(provide({ images: [base64Of(bytes)] }), store, { afterImage: label });
      const { text } = await test.postNative({ ...request, stream });
      expect(text).toContain(toBase64(labelled(bytes)));
      expect(text).not.toContain(`"${toBase64(bytes)}"`);
      expect(store.images.map((image) => image.equals(labelled(bytes)))).toEqual([true]);
    }
  });
});

describe("a store", () => {
  it("that resolves without the whole image has not stored it", async () => {
    const store = createStore(async () => {});
    const test = open(provide({ images: [{ url: LINK }] }), store);
    const response = await test.post(request);
    expect(imagesOf(response)).toEqual([{ url: LINK }]);
    expect(response.body["extra"]).toEqual({
      errors: [{ index: 0, code: "image_not_stored", message: "The store did not read the whole image." }],
    });
  });

  /** More than what is held of an image that the provider sent as base64 only. */
  const HUGE = new Uint8Array(Buffer.alloc(17 * 1024 * 1024, SMALL));
  const PROVIDERS: readonly (readonly [string, JsonObject, Partial<GatewayOptions>])[] = [
    ["JSON", {}, {}],
    ["a stream in OpenAI's format", { stream: true }, { streamFormat: "openai" }],
  ];
  /** Base64 although a link was requested. */
  const askForLink = (test: TestGateway, fields: JsonObject): ReturnType<TestGateway["post"]> =>
    test.post({ ...request, response_format: "url", ...fields });

  it.each(PROVIDERS)(
    "that fails while a huge image arrives does not cost the image: %s with its base64",
    async (_what, fields, options) => {
      const store = createStore(async ({ body }) => {
        let length = 0;
        for await (const chunk of body) {
          length += chunk.length;
          if (length > 5_000_000) throw new Error("The disk is full.");
        }
      });
      const cut = 60_000;
      const test = open(provide({ images: [base64Of(HUGE), base64Of(LARGE)], cut }), store, options);
      const { status, text } = await askForLink(test, fields);
      expect(status).toBe(200);
      const written = text.split('"b64_json":"')[1] ?? "";
      const first = written.slice(0, written.indexOf('"'));
      expect(Buffer.from(first, "base64").equals(HUGE)).toBe(true);
      expect(text).toContain(
        '"index":0,"code":"image_not_stored","message":"The image could not be stored."',
      );
      // The next image is stored.
      expect(text).toContain('"url":"https://store.test/');
      const line = text.split("\n").find((each) => each.includes('"b64_json":"')) ?? "";
      expect(() => JSON.parse(line.replace(/^data: /, "")) as unknown).not.toThrow();
      expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]);
    },
  );

  it.each(PROVIDERS)(
    "that fails at the end of a huge image loses it, and says so: %s",
    async (_what, fields, options) => {
      const store = createStore(async ({ body }) => {
        let length = 0;
        for await (const chunk of body) length += chunk.length;
        if (length === HUGE.length) throw new Error("The disk is full.");
      });
      const test = open(provide({ images: [base64Of(LARGE), base64Of(HUGE)], cut: 60_000 }), store, options);
      const { text } = await askForLink(test, fields);
      expect(text.length).toBeLessThan(2_000);
      expect(text).toContain('"url":"https://store.test/');
      expect(text).toContain('"index":1,"code":"image_not_stored"');
      expect(text).toContain("It is too large to be delivered in another way, so it is lost.");
      expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]);
    },
  );

  it("may request chunks before it has the ones before them", async () => {
    const images: Buffer[] = [];
    const store = createStore(async ({ body }) => {
      const iterator = body[Symbol.asyncIterator]();
      const chunks: Uint8Array[] = [];
      for (;;) {
        const read = await Promise.all([iterator.next(), iterator.next(), iterator.next()]);
        for (const { done, value } of read) if (done !== true) chunks.push(value);
        if (read.some(({ done }) => done === true)) break;
      }
      images.push(Buffer.concat(chunks));
    });
    await open(provide({ images: [base64Of(LARGE)] }), store).post({
      ...request,
      response_format: "b64_json",
    });
    expect(images.map((image) => image.equals(LARGE))).toEqual([true]);
  });

  it.each([
    ["of the provider breaks off", true],
    ["ends inside an image", false],
  ])(
    "does not wait for the rest of an image if the stream %s after the client has left",
    async (_name, breaks) => {
      const [whole = ""] =
        `event: ${IMAGE_EVENT}\ndata: ${JSON.stringify({ type: IMAGE_EVENT, ...base64Of(LARGE) })}`.split(
          "\n\n",
        );
      const left = Promise.withResolvers<void>();
      const body = async function* (): AsyncGenerator<Uint8Array> {
        yield encoder.encode(whole.slice(0, 100_000));
        await left.promise;
        yield encoder.encode(whole.slice(100_000, 150_000));
        if (breaks) throw new Error("reset");
      };
      const store = createStore();
      const { gateway, records } = open(
        () => new Response(ReadableStream.from(body()), { headers: { "content-type": "text/event-stream" } }),
        store,
      );
      const response = await gateway.fetch(
        createPost({ ...request, stream: true, response_format: "b64_json" }),
      );
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      expect(store.running).toBe(1);
      left.resolve();
      await vi.waitFor(() => expect(records).toHaveLength(1));
      await vi.waitFor(() => expect(store.running).toBe(0));
      expect(store.images).toEqual([]);
    },
  );

  it.each([SMALL, LARGE])(
    "that fails leaves the base64, if the provider sent only that: $length bytes",
    async (bytes) => {
      const test = open(provide({ images: [base64Of(bytes)] }), failing());
      const response = await test.post({ ...request, response_format: "url" });
      expect(imagesOf(response)).toEqual([base64Of(bytes)]);
      expect(response.text).toContain("image_not_stored");
    },
  );

  it("that is slow does not make a heartbeat part of an event", async () => {
    const store = createStore(async (image) => {
      await readAll(image);
      await pause(60);
    });
    const test = open(
      provide({ images: [{ url: LINK }, { url: LINK }, base64Of(LARGE), { url: LINK }], cut: 1_000_000 }),
      store,
      {
        streamFormat: "openai",
        heartbeatSeconds: 0.01,
      },
    );
    const { text } = await test.post({ ...request, n: 4, stream: true });
    // White space follows an image whose event is still open.
    const events = text.split("\n\n").filter((event) => event !== "" && !event.startsWith(":"));
    expect(events.map((event) => event.split("\n")[0])).toEqual([
      ...Array<string>(4).fill("event: image_generation.completed"),
      "data: [DONE]",
    ]);
    expect(text).toMatch(/: keep-alive/);
  });

  it.each<[string, JsonObject, Partial<GatewayOptions>]>([
    ["JSON", { ...request, response_format: "b64_json" }, {}],
    ["a native stream", { ...request, response_format: "b64_json", stream: true }, {}],
    ["a stream", { ...request, response_format: "b64_json", stream: true }, { streamFormat: "openai" }],
    [
      "a stream of several calls",
      { ...request, model: SINGLE, n: 2, stream: true },
      { streamFormat: "openai" },
    ],
  ])("that hangs does not keep the gateway from closing: %s", async (_name, fields, options) => {
    const aborted: unknown[] = [];
    const store = createStore(async ({ signal }) => {
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve);
      });
      aborted.push(signal.reason);
    });
    const test = open(provide({ images: [base64Of(LARGE)] }), store, options);
    const response = test.post(fields).catch((error: unknown) => error);
    await vi.waitFor(() => expect(store.running).toBe(1));
    await test.gateway.close({ deadlineSeconds: 0.05 });
    expect(test.records.length + test.unresolved.length).toBe(1);
    await response;
    await vi.waitFor(() => expect(store.running).toBe(0));
    expect(aborted.length).toBeGreaterThan(0);
  });

  it("gets the image of a link while the client gets it as base64", async () => {
    const rest = Promise.withResolvers<void>();
    let hasBegun = false;
    const store = createStore(async ({ body }) => {
      for await (const chunk of body) hasBegun ||= chunk.length > 0;
    });
    const download = async function* (): AsyncGenerator<Uint8Array> {
      yield LARGE.slice(0, 100_000);
      await rest.promise;
      yield LARGE.slice(100_000);
    };
    const { gateway } = open(
      provide({ images: [{ url: LINK }], link: () => new Response(ReadableStream.from(download())) }),
      store,
      { streamFormat: "openai" },
    );
    const response = await gateway.fetch(
      createPost({ model: QWEN, prompt: "a fox", stream: true, response_format: "b64_json" }),
    );
    let text = "";
    for await (const value of response.body ?? []) {
      text += Buffer.from(value).toString();
      if (text.length < 100_000) continue;
      await vi.waitFor(() => expect(hasBegun).toBe(true));
      rest.resolve();
    }
    expect(text).toContain(`"b64_json":"${toBase64(LARGE)}"`);
    expect(text).toMatch(/"stored_url":"https:\/\/store\.test\//);
  });
});

const openFailing = (): TestGateway =>
  open(provide({ images: [{ url: LINK }] }), failing(), { afterImage: label });
const gone = (): Response => new Response("gone", { status: 404 });

describe("afterImage", () => {
  it.each<[string, AfterImage]>([
    ["hangs", () => new Promise(() => {})],
    ["returns something else than bytes", (() => "an image") as unknown as AfterImage],
    ["returns no bytes", () => new Uint8Array()],
    [
      "passes the memory of the image on",
      async (image) => {
        const { buffer } = await image.bytes();
        structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
      },
    ],
  ])("that %s costs its image and no other", async (_name, afterImage) => {
    const images = [base64Of(SMALL), base64Of(SMALL)];
    const test = open(provide({ images }), createStore(), {
      afterImage: (image, call) => (call.index === 0 ? afterImage(image, call) : undefined),
    });
    const response = await test.post({ ...request, n: 2, response_format: "b64_json" });
    expect(imagesOf(response)).toHaveLength(1);
    expect(response.body["extra"]).toEqual({
      errors: [{ index: 0, code: "internal_error", message: "The image could not be checked." }],
    });
    expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("that refuses one image does not hide another one that was not stored", async () => {
    let calls = 0;
    const afterImage: AfterImage = (image, call) => (calls++ === 0 ? refuse(image, call) : undefined);
    const test = open(provide({ images: [{ url: LINK }, { url: LINK }] }), failing(), { afterImage });
    const response = await test.post({ ...request, n: 2 });
    expect(response.status).toBe(200);
    expect(imagesOf(response)).toEqual([{ url: LINK }]);
  });

  it.each<[string, JsonObject, JsonObject, Partial<GatewayOptions>]>([
    ["JSON", { ...request, n: 2 }, { url: LINK }, {}],
    ["large JSON", { ...request, n: 2, response_format: "b64_json" }, base64Of(LARGE), {}],
    ["JSON of several calls", { ...request, model: SINGLE, n: 2 }, { url: LINK }, {}],
    [
      "a stream of several calls",
      { ...request, model: SINGLE, n: 2, stream: true },
      { url: LINK },
      { streamFormat: "openai" },
    ],
    ["a stream", { ...request, n: 2, stream: true }, { url: LINK }, { streamFormat: "openai" }],
    [
      "a stream made from JSON",
      { ...request, model: QWEN, n: 2, stream: true },
      { url: LINK },
      { streamFormat: "openai" },
    ],
  ])("that refuses every image gives its error: %s", async (_name, fields, image, options) => {
    const images = fields["model"] === SINGLE ? [image] : [image, image];
    const test = open(provide({ images }), createStore(), { ...options, afterImage: refuse });
    const { status, text } = await test.post(fields);
    expect(text).toContain("Not this one.");
    expect(status === 451 || /^event: error$/m.test(text)).toBe(true);
    expect(test.records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("that changed an image never leaves the provider's link, even if the store fails", async () => {
    const base64 = toBase64(labelled(SMALL));
    expect(imagesOf(await openFailing().post(request))).toEqual([{ b64_json: base64 }]);
    for (const stream of [false, true]) {
      const { text } = await openFailing().postNative({ ...request, stream });
      expect(text).toContain(`"url":"data:image/png;base64,${base64}"`);
      expect(text).not.toContain("provider.test");
    }
  });

  it("is not skipped if the image cannot be downloaded", async () => {
    const test = open(provide({ images: [{ url: LINK }], link: gone }), createStore(), { afterImage: label });
    const response = await test.post(request);
    expect(response).toMatchObject({ status: 502, body: { error: { code: "upstream_invalid_response" } } });
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(test.records).toMatchObject([{ images: 1, charge: "0.1" }]);
  });

  it("is not skipped by a native stream that ends before its event", async () => {
    const event = `event: ${IMAGE_EVENT}\ndata: ${JSON.stringify({ type: IMAGE_EVENT, url: LINK })}\n`;
    const test = open(() => respond(event, "text/event-stream"), createStore(), { afterImage: label });
    const response = await test.gateway.fetch(new Request(NATIVE, createPost({ ...request, stream: true })));
    expect(await response.text()).not.toContain("provider.test");
  });
});
