import { describe, expect, it } from "vitest";
import { gemini } from "../../families/gemini/gemini.js";
import { openai } from "../../families/openai/openai.js";
import type { GatewayOptions } from "../../gateway-options/options.js";
import { cutEvery } from "../../testing/cut-bytes.js";
import { MemoryResults } from "../../testing/memory-results.js";
import {
  createPost,
  createTestGateway,
  type Provider,
  readResponse,
  type TestGateway,
} from "../../testing/test-gateway.js";
import type { ImageMark } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { markImage } from "./image-marker.js";
import { writeAigc } from "./mark.js";
import { createJpeg, createPng, createWebp } from "./testing/sample-images.js";

const SEEDREAM = "seedream-4-5-251128";
const SINGLE = "seedream-5-0-pro-260628";
const QWEN = "image-2.0-pro";
const GEMINI = "gemini-nano-banana-2.1";
const GPT = "gpt-image-2";
const PRODUCER = "Company";

type Image = Uint8Array<ArrayBuffer>;

/** Both small and large images, because large ones pass in parts. */
const PNG = createPng({ byteLength: 200_000 });
const JPEG = createJpeg({ byteLength: 300 });
const WEBP = createWebp({ byteLength: 100_000 });
const C2PA = createJpeg({
  before: [{ type: "\u00eb", data: "JP\0\u0001\0\0\0\u0001jumbc2pa" }],
  byteLength: 100_000,
});
const SMALL_C2PA = createPng({ before: [{ type: "caBX", data: "jumb" }], byteLength: 300 });

const toBase64 = (image: Uint8Array): string => Buffer.from(image).toString("base64");
const link = (index: number): string => `https://provider.test/${index}.png`;

function inChunks(text: string, contentType: string): Response {
  const chunks = cutEvery(new TextEncoder().encode(text), 7_001);
  return new Response(ReadableStream.from(chunks), { headers: { "content-type": contentType } });
}

const toEvent = (type: string, data: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;

/** Responds like the providers, with these images. */
function provide(images: readonly Image[]): Provider {
  let made = 0;
  return ({ url, body }) => {
    const file = /provider\.test\/(\d+)/.exec(url)?.[1];
    if (file !== undefined)
      return new Response(ReadableStream.from(cutEvery(images[Number(file)] ?? PNG, 7_001)));
    if (url.includes("multimodal-generation")) {
      const content = images.map((_, index) => ({ image: link(index) }));
      const output = { choices: [{ message: { role: "assistant", content } }] };
      return Response.json({ output, usage: { image_count: images.length }, request_id: "r" });
    }
    if (url.includes("generateContent")) {
      const parts = images.map((image) => ({ inlineData: { mimeType: "image/png", data: toBase64(image) } }));
      const draft = { thought: true, inlineData: { mimeType: "image/png", data: toBase64(PNG) } };
      const candidates = [{ content: { parts: [draft, ...parts] }, finishReason: "STOP" }];
      return inChunks(
        JSON.stringify({ candidates, usageMetadata: { totalTokenCount: 3 } }),
        "application/json",
      );
    }
    const usage = { generated_images: images.length, output_tokens: 9, total_tokens: 9, input_tokens: 0 };
    if (url.includes("openai")) {
      const events = images.flatMap((image) => [
        toEvent("image_generation.partial_image", { b64_json: toBase64(SMALL_C2PA), partial_image_index: 0 }),
        toEvent("image_generation.completed", { b64_json: toBase64(image), created_at: 1, usage }),
      ]);
      return inChunks(events.join(""), "text/event-stream");
    }
    const isBase64 = body["response_format"] === "b64_json";
    const toItem = (image: Image, index: number): JsonObject =>
      isBase64 ? { b64_json: toBase64(image), size: "1x1" } : { url: link(index), size: "1x1" };
    if (body["stream"] === true) {
      const events = images.map((image, index) =>
        toEvent("image_generation.partial_succeeded", {
          model: "m",
          image_index: index,
          ...toItem(image, index),
        }),
      );
      return inChunks(
        `${events.join("")}${toEvent("image_generation.completed", { usage })}data: [DONE]\n\n`,
        "text/event-stream",
      );
    }
    const isSingle = body["model"] === SINGLE;
    const own = isSingle ? [images[made++ % images.length] ?? PNG] : images;
    const data = own.map((image, index) => toItem(image, index));
    const counted = isSingle ? { ...usage, generated_images: 1 } : usage;
    return inChunks(
      JSON.stringify({ model: "m", created: 1, data, usage: counted }, undefined, 1),
      "application/json",
    );
  };
}

function start(images: readonly Image[], options: Partial<GatewayOptions>): TestGateway {
  return createTestGateway(provide(images), {
    families: [gemini, openai],
    models: {
      [SEEDREAM]: { family: "seedream" },
      [SINGLE]: { family: "seedream" },
      "image-2.0*": { family: "qwen-image" },
      [GEMINI]: { family: "gemini" },
      [GPT]: { family: "openai" },
    },
    channels: [
      { id: "ark", family: "seedream", apiKey: "ark-canary-1" },
      { id: "bailian", family: "qwen-image", apiKey: "bailian-canary-1" },
      { id: "google", family: "gemini", apiKey: "google-canary-1" },
      { id: "openai", family: "openai", apiKey: "openai-canary-1" },
    ],
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    ...options,
  });
}

interface Way {
  readonly body: JsonObject;
  readonly isNative?: boolean;
  /** The images are stored. */
  readonly isStored?: boolean;
  /** The number of images that the provider makes. Default 2. */
  readonly images?: number;
  /** The images of the response are those of events of this type. */
  readonly events?: string;
}

const generate = (model: string, fields: JsonObject): JsonObject => ({ model, prompt: "a cat", ...fields });
const BASE64 = { response_format: "b64_json" };
const MAX_2 = { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 2 } };

const NATIVE = generate(SEEDREAM, { ...MAX_2, ...BASE64 });

const WAYS: Readonly<Record<string, Way>> = {
  "base64 in JSON": { body: generate(SEEDREAM, { n: 2, ...BASE64 }) },
  "base64 of links": { body: generate(QWEN, { n: 2, ...BASE64 }) },
  "base64 of several calls": { body: generate(SINGLE, { n: 2, ...BASE64 }) },
  "base64 of Gemini": { body: generate(GEMINI, {}), images: 1 },
  "base64 in the provider's own JSON": { body: NATIVE, isNative: true },
  "events of the provider": {
    body: generate(SEEDREAM, { ...MAX_2, stream: true, ...BASE64 }),
    isNative: true,
    events: "image_generation.partial_succeeded",
  },
  "events of OpenAI, as it sends them": {
    body: generate(GPT, { n: 2, stream: true }),
    events: "image_generation.completed",
  },
  "links to stored images": { body: generate(SEEDREAM, { n: 2 }), isStored: true },
  "links to stored images, from links of the provider": { body: generate(QWEN, { n: 2 }), isStored: true },
  "links to stored images, from base64": {
    body: generate(GEMINI, { response_format: "url" }),
    isStored: true,
    images: 1,
  },
  "stored base64": { body: generate(SEEDREAM, { n: 2, ...BASE64 }), isStored: true },
  "stored base64 of links": { body: generate(QWEN, { n: 2, ...BASE64 }), isStored: true },
  "links in events": {
    body: generate(SEEDREAM, { ...MAX_2, stream: true }),
    isNative: true,
    isStored: true,
    events: "image_generation.partial_succeeded",
  },
};

interface Seen {
  readonly images: readonly string[];
  readonly marks: readonly ImageMark[] | undefined;
  readonly status: number;
  readonly text: string;
  readonly charge: string | null | undefined;
  readonly id: string;
  readonly logs: TestGateway["logs"];
}

/** Sends a request, and returns the images of its response in base64. */
async function send(way: Way, all: readonly Image[], require: boolean, requests = 1): Promise<Seen> {
  const store = new MemoryResults();
  const results = { store, native: true, urls: "gateway" } as const;
  const made = all.slice(0, way.images ?? 2);
  const gateway = start(made, {
    marks: { producer: PRODUCER, china: true, require },
    ...(way.isStored === true && { results }),
  });
  const post = way.isNative === true ? gateway.postNative : gateway.post;
  for (let request = 1; request < requests; request++) await post(way.body);
  const response = await post(way.body);
  const images = readItems(response.text, way.events).map(({ b64_json: base64, url }) => {
    if (typeof base64 === "string") return base64;
    const id = /files\/([^?]+)\?/.exec(String(url))?.[1] ?? "";
    const stored = store.images.get(id)?.bytes;
    return stored === undefined ? String(url) : toBase64(stored);
  });
  await gateway.gateway.close();
  const record = gateway.records.at(-1);
  const { status, text } = response;
  const id = response.headers.get("x-request-id") ?? "";
  return { images, marks: record?.marks, status, text, charge: record?.charge, id, logs: gateway.logs };
}

function readItems(text: string, events: string | undefined): readonly JsonObject[] {
  if (events === undefined) {
    const body: unknown = JSON.parse(text);
    return isJsonObject(body) && Array.isArray(body["data"]) ? body["data"] : [];
  }
  return text
    .split("\n\n")
    .flatMap((event) => /^data: (\{.*)$/m.exec(event)?.[1] ?? [])
    .map((data): JsonObject => JSON.parse(data))
    .filter(({ type }) => type === events);
}

const marked = (image: Image, id: string): string =>
  toBase64(markImage(image, { hasSourceType: true, aigc: writeAigc(PRODUCER, id) }).image);

describe.each(Object.entries(WAYS))("%s", (_name, way) => {
  it.each([
    ["PNG and JPEG", [PNG, JPEG]],
    ["WebP and PNG", [WEBP, PNG]],
  ])("has the mark in %s, and the record says so", async (_formats, images) => {
    const seen = await send(way, images, false);
    const made = images.slice(0, way.images ?? 2);
    expect(seen.images).toEqual(made.map((image) => marked(image, seen.id)));
    expect(seen.marks).toEqual(made.map(() => "marked"));
  });

  it("has the image as it was made if it has a C2PA manifest", async () => {
    const made = [C2PA, SMALL_C2PA].slice(0, way.images ?? 2);
    const seen = await send(way, made, false, 2);
    expect(seen.images).toEqual(made.map(toBase64));
    expect(seen.marks).toEqual(made.map(() => "c2pa"));
    expect(seen.logs.filter(({ message }) => message.includes("C2PA"))).toHaveLength(1);
  });

  it("is withheld if the mark is required, and charged", async () => {
    const made = [C2PA, SMALL_C2PA].slice(0, way.images ?? 2);
    const seen = await send(way, made, true);
    expect(seen.images.filter((image) => image !== "")).toEqual([]);
    expect(seen.marks).toEqual(made.map(() => "c2pa"));
    expect(seen.charge).toBe(way.images === 1 ? "0.1" : "0.2");
    expect(seen.text).not.toContain("withheld");
    expect(seen.text).toContain('"code":"image_not_marked"');
    // A provider's own JSON and its events stay as they are, with errors in place of the images.
    expect(seen.status).toBe(way.isNative !== true && way.events === undefined ? 502 : 200);
  });

  it.skipIf(way.images === 1)(
    "is delivered without the image that has no mark, if it is required",
    async () => {
      const seen = await send(way, [PNG, C2PA], true);
      expect(seen.images.filter((image) => image !== "")).toEqual([marked(PNG, seen.id)]);
      expect(seen.charge).toBe("0.2");
      expect(seen.status).toBe(200);
      expect(seen.text.match(/"code":"image_not_marked"/g)).toHaveLength(1);
      expect(seen.text).not.toContain("withheld");
    },
  );
});

it("says in a provider's own JSON which image is withheld", async () => {
  const { text } = await send({ body: NATIVE, isNative: true }, [PNG, C2PA], true);
  const error = { code: "image_not_marked", message: expect.stringContaining("C2PA") };
  expect(readItems(text, undefined)).toEqual([
    { b64_json: expect.any(String), size: "1x1" },
    { b64_json: "", error, size: "1x1" },
  ]);
});

it("does not count withheld images as failures of the channel", async () => {
  const seen = await send({ body: NATIVE, isNative: true }, [C2PA, C2PA], true, 20);
  expect([seen.status, seen.charge]).toEqual([200, "0.2"]);
});

it.each([
  [SEEDREAM, { type: "image_generation.partial_failed", image_index: 1 }, "error"],
  [GPT, { type: "image_generation.usage", usage: { output_tokens: 9 } }, "extra.errors.0"],
])("has an event for the withheld image in a stream of %s", async (model, members, path) => {
  const way = Object.values(WAYS).find(({ body, events }) => body["model"] === model && events !== undefined);
  const { text } = await send(way ?? { body: {} }, [PNG, C2PA], true);
  const failed = readItems(text, members.type);
  expect(failed).toMatchObject([members]);
  expect(failed[0]).toHaveProperty(`${path}.code`, "image_not_marked");
});

describe("without a store", () => {
  it("says of a link of the provider that it has no mark", async () => {
    const { images, marks } = await send({ body: generate(SEEDREAM, {}), images: 1 }, [PNG], false);
    expect([images, marks]).toEqual([[link(0)], ["link"]]);
  });

  it.each([
    ["/v1", generate(SEEDREAM, {}), false],
    ["the native endpoint", generate(SEEDREAM, {}), true],
  ])("refuses links on %s before anything is sent, if a mark is required", async (_name, body, isNative) => {
    const gateway = start([PNG], { marks: { require: true } });
    const response = await (isNative ? gateway.postNative : gateway.post)(body);
    expect([response.status, gateway.calls, gateway.records]).toEqual([400, [], []]);
    expect(response.body["error"]).toMatchObject({ param: "response_format" });
  });
});

it("withholds an image that could not be stored, if a mark is required", async () => {
  const store = { put: () => Promise.reject(new Error("full")), link: () => "https://store.test/1" };
  const gateway = start([PNG], { marks: { require: true }, results: { store } });
  const response = await gateway.post(generate(SEEDREAM, {}));
  expect(response.status).toBe(502);
  expect(response.text).not.toContain("provider.test");
  expect(gateway.records).toMatchObject([{ charge: "0.1", marks: ["marked"] }]);
});

it("marks what afterImage returns", async () => {
  const changed = createPng({ byteLength: 500 });
  const options = { marks: {}, results: { store: new MemoryResults(), urls: "gateway" as const } };
  const gateway = start([WEBP], { ...options, afterImage: () => changed });
  const response = await gateway.post(generate(SEEDREAM, BASE64));
  const expected = toBase64(markImage(changed, { hasSourceType: true, aigc: undefined }).image);
  expect(readItems(response.text, undefined)).toMatchObject([{ b64_json: expected }]);
});

it("marks the images of tasks", async () => {
  const store = new MemoryResults();
  const { gateway, records } = start([PNG, JPEG], { marks: {}, results: { store, urls: "gateway" } });
  const submitted = await readResponse(
    await gateway.fetch(createPost(generate(SEEDREAM, { n: 2 }), { prefer: "respond-async" })),
  );
  expect(submitted.status).toBe(202);
  const wait = new Request(`http://gateway.test/v1/images/tasks/${String(submitted.body["id"])}?wait=10`, {
    headers: { authorization: createPost({}).headers.get("authorization") ?? "" },
  });
  expect((await readResponse(await gateway.fetch(wait))).body).toMatchObject({ status: "completed" });
  await gateway.close();
  const mark = { hasSourceType: true, aigc: undefined };
  expect([...store.images.values()].map(({ bytes }) => toBase64(bytes)).toSorted()).toEqual(
    [PNG, JPEG].map((image) => toBase64(markImage(image, mark).image)).toSorted(),
  );
  expect(records).toMatchObject([{ marks: ["marked", "marked"] }]);
});

it.each([
  ["/v1/chat/completions", { model: SEEDREAM, messages: [{ role: "user", content: "a cat" }] }],
  [`/v1beta/models/${GEMINI}:generateContent`, { contents: [{ parts: [{ text: "a cat" }] }] }],
])("marks the images of %s", async (path, body) => {
  const gateway = start([PNG], {
    marks: {},
    basePath: "/ai",
    chatCompletions: true,
    geminiEndpoint: true,
    responseFormat: "b64_json",
  });
  const request = new Request(`http://gateway.test/ai${path}`, createPost(body));
  const { text } = await readResponse(await gateway.gateway.fetch(request));
  expect(text).toContain(toBase64(markImage(PNG, { hasSourceType: true, aigc: undefined }).image));
  await gateway.gateway.close();
  expect(gateway.records).toMatchObject([{ marks: ["marked"] }]);
});

it.each([
  ["marks", { marks: { eu: false } }],
  ["marks.producer", { marks: { china: true } }],
  ["marks.producer", { marks: { producer: "a\nb" } }],
  ["responseFormat", { marks: { require: true }, responseFormat: "url" }],
] as const)("refuses wrong options at startup: %s", (path, options) => {
  expect(() => start([PNG], options)).toThrow(
    expect.objectContaining({ problems: [expect.objectContaining({ path })] }),
  );
});
