import { describe, expect, it } from "vitest";
import { GatewayError } from "./errors.js";
import { gemini } from "./families/gemini/gemini.js";
import { seedream } from "./families/index.js";
import type { AfterImage } from "./features/results/after-image.js";
import type { ResultStore } from "./features/results/store.js";
import type { GatewayRequest } from "./http.js";
import { FORM_TYPE, formBytes, inPieces, PNG } from "./testing/form-bytes.js";
import { until } from "./testing/open-darkroom.js";
import { createOpenStreams } from "./testing/open-streams.js";
import { createScriptedSource } from "./testing/scripted-source.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  CALLER_KEY,
  createPost,
  createTestGateway,
  DASHSCOPE_RESPONSE,
  GENERATIONS,
  type Provider,
  type ReadResponse,
  readResponse,
  type TestGateway,
} from "./testing/test-gateway.js";

const MAX_BYTES = 1_000_000;
/** Larger than what counts as written at once. */
const IMAGE = "A".repeat(400_000);
const BASE64_RESPONSE = { ...ARK_RESPONSE, data: [{ b64_json: IMAGE }] };
const OVERLOADED = { error: { code: "overloaded", type: "server_error" } };

/** A family without `responseShape`, so that whole responses are held in memory. */
const { responseShape: _shape, ...withoutShape } = seedream;
const plain = { ...withoutShape, name: "plain" };

const open = (provider?: Provider): TestGateway =>
  createTestGateway(provider, {
    families: [plain],
    models: { doodle: { family: "plain" }, "seedream-4-5-251128": { family: "seedream" } },
    channels: ["plain", "seedream"].map((family) => ({ id: family, family, apiKey: ARK_KEY })),
    maxBytesInFlight: MAX_BYTES,
    limits: { concurrent: 5 },
  });

/** A body of exactly this number of bytes. */
function bodyOf(bytes: number): string {
  const empty = JSON.stringify({ model: "doodle", prompt: "" });
  return JSON.stringify({ model: "doodle", prompt: "p".repeat(bytes - empty.length) });
}

const SMALL = { model: "doodle", prompt: "a fox" };
const declare = (body: string): Record<string, string> => ({ "content-length": String(body.length) });

/** Succeeds only if no bytes are in flight except `besides`. */
async function fillBudget({ post }: TestGateway, besides = 0): Promise<ReadResponse> {
  const body = bodyOf(MAX_BYTES - besides);
  return post(body, declare(body));
}

const openLarge = (): TestGateway => open(() => Response.json(BASE64_RESPONSE));
const isHeld = async (test: TestGateway): Promise<boolean> => (await fillBudget(test)).status === 503;

/** A request whose body is sent by the test. */
function openUpload(headers: Record<string, string> = {}) {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const request: GatewayRequest = {
    method: "POST",
    url: GENERATIONS,
    headers: new Headers({
      authorization: `Bearer ${CALLER_KEY}`,
      "content-type": "application/json",
      ...headers,
    }),
    body: readable,
    signal: new AbortController().signal,
  };
  return { request, write: (text: string) => writer.write(new TextEncoder().encode(text)), writer };
}

describe("uploads above the limit of bytes in flight", () => {
  it("get a 503 before they are read if they declare more than there is room for, and pass later", async () => {
    const test = open();
    const large = bodyOf(700_000);
    const upload = openUpload(declare(large));
    const first = test.gateway.handle(upload.request);
    await upload.write(large.slice(0, -1));
    const refused = await test.post(large, declare(large));
    expect(refused).toMatchObject({ status: 503, body: OVERLOADED });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect((await test.post(SMALL)).status).toBe(200);
    await upload.write(large.slice(-1));
    await upload.writer.close();
    expect((await first)?.status).toBe(200);
    expect((await fillBudget(test)).status).toBe(200);
  });

  it("in pieces get it when they have become too much, and pass once there is room", async () => {
    const test = open();
    const first = openUpload();
    const response = test.gateway.handle(first.request);
    await first.write(bodyOf(700_000));
    const refused = await readResponse(await test.gateway.fetch(createPost(bodyOf(400_000))));
    expect(refused).toMatchObject({ status: 503, body: OVERLOADED });
    await first.writer.close();
    expect((await response)?.status).toBe(200);
    expect((await fillBudget(test)).status).toBe(200);
  });

  it("of a form in pieces get it, too, and pass once there is room", async () => {
    const test = open();
    const edit = async (size: number): Promise<number | undefined> => {
      const form = formBytes(
        { name: "model", content: "doodle" },
        { name: "prompt", content: "at night" },
        { name: "image", filename: "blob", content: Buffer.concat([PNG, new Uint8Array(size)]) },
      );
      const { request } = openUpload({ "content-type": FORM_TYPE });
      const response = test.gateway.handle({ ...request, url: "/v1/images/edits", body: inPieces(form) });
      return (await response)?.status;
    };
    const first = openUpload();
    const response = test.gateway.handle(first.request);
    await first.write(bodyOf(700_000));
    expect(await edit(400_000)).toBe(503);
    await first.writer.close();
    expect((await response)?.status).toBe(200);
    expect(await edit(400_000)).toBe(200);
    expect((await fillBudget(test)).status).toBe(200);
  });

  it("that no room will ever be enough for are a 413", async () => {
    const test = open();
    const response = await test.post(SMALL, { "content-length": String(MAX_BYTES + 1) });
    expect(response).toMatchObject({ status: 413, body: { error: { code: "request_too_large" } } });
  });

  it.each<[string, (test: TestGateway) => Promise<unknown>]>([
    ["of a wrong key", ({ post }) => post(bodyOf(500_000), { authorization: "Bearer wrong" })],
    ["that are not JSON", ({ post }) => post("{".repeat(500_000))],
    ["of an unknown model", ({ post }) => post({ model: "nothing", prompt: "p".repeat(500_000) })],
    ["that are cut short", ({ post }) => post(bodyOf(500_000), { "content-length": "900000" })],
    [
      "that break off",
      async ({ gateway }) => {
        const upload = openUpload({ "content-length": "900000" });
        const response = gateway.handle(upload.request);
        await upload.write("{");
        await upload.writer.abort(new Error("gone"));
        expect(await response).toMatchObject({ status: 499 });
      },
    ],
  ])("do not count after they were refused: %s", async (_what, send) => {
    const test = open();
    await send(test);
    expect((await fillBudget(test)).status).toBe(200);
  });
});

describe("a large response that is relayed", () => {
  it("is not held, whether it is read or not", async () => {
    const test = openLarge();
    const ask = { model: "seedream-4-5-251128", prompt: "a fox", response_format: "b64_json" };
    const response = await test.gateway.fetch(createPost(ask));
    expect((await fillBudget(test, JSON.stringify(ask).length)).status).toBe(200);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: IMAGE }] });
    expect(await isHeld(test)).toBe(false);
  });
});

describe("the body of a request that gets a stream", () => {
  it("is held until the stream has ended", async () => {
    const streams = createOpenStreams();
    let calls = 0;
    const test = open((call) => (calls++ === 0 ? streams.provider(call) : Response.json(ARK_RESPONSE)));
    // For a family without a response shape, the head of a stream would be sent with its first bytes.
    const ask = { model: "seedream-4-5-251128", prompt: "a fox", stream: true, user: "u".repeat(400_000) };
    const body = JSON.stringify(ask);
    const response = await test.gateway.fetch(createPost(body));
    expect((await fillBudget(test, 300_000)).status).toBe(503);
    expect((await fillBudget(test, body.length)).status).toBe(200);
    streams.finish();
    await response.text();
    await expect.poll(() => isHeld(test)).toBe(false);
  });
});

/** A store that reads each image, and then keeps or refuses it. */
function createStore({ fails = false, canRead = false }): ResultStore {
  const images = new Map<string, Uint8Array>();
  return {
    link: ({ id }) => `https://store.test/${id}`,
    async put({ id, body }) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(chunk);
      images.set(id, Buffer.concat(chunks));
      if (fails) throw new Error("The disk is full.");
    },
    ...(canRead && {
      async open(id) {
        const bytes = images.get(id) ?? new Uint8Array();
        return { contentType: "image/png", byteLength: bytes.length, body: inPieces(bytes) };
      },
    }),
  };
}

const IMAGE_EVENT = `data: ${JSON.stringify({
  type: "image_generation.partial_succeeded",
  image_index: 0,
  b64_json: IMAGE,
})}\n\n`;
const LAST_EVENT = `data: ${JSON.stringify({ type: "image_generation.completed", usage: ARK_RESPONSE.usage })}\n\n`;
const GEMINI_RESPONSE = {
  candidates: [
    { content: { parts: [{ inlineData: { mimeType: "image/png", data: IMAGE } }] }, finishReason: "STOP" },
  ],
};

async function hasRoom({ post }: TestGateway, besides: number): Promise<boolean> {
  const { status } = await post(`${" ".repeat(MAX_BYTES - besides)}{"model":"missing"}`);
  return status === 404;
}

/** Whether about this number of bytes is counted. */
async function holds(test: TestGateway, bytes: number): Promise<boolean> {
  return (await hasRoom(test, bytes + 30_000)) && (bytes === 0 || !(await hasRoom(test, bytes - 30_000)));
}

interface StoredCase {
  readonly fields: object;
  /** Default: one that keeps each image. */
  readonly store?: ResultStore | "none";
  readonly afterImage?: AfterImage;
  /** The response of the first upstream call up to the end of its image, and its rest. */
  readonly image: string;
  readonly rest?: string;
  /** The image breaks off. */
  readonly isCut?: boolean;
  /** About the bytes that are held after half of the image, and after its end. */
  readonly held?: readonly [half: number, end: number];
}

const STREAM = { model: "seedream-4-5-251128", stream: true, n: 2, response_format: "url" };
const CALLS = { model: "single", n: 2, response_format: "url" };
const BASE64_CALLS = { ...CALLS, response_format: "b64_json" };
const refuse: AfterImage = () => {
  throw new GatewayError("request_refused", "Not this one.");
};
const refuseAtOnce: ResultStore = { ...createStore({}), put: () => Promise.reject(new Error("full")) };
const inStream = { fields: STREAM, image: IMAGE_EVENT, rest: LAST_EVENT };
const inCall = { fields: CALLS, image: JSON.stringify(BASE64_RESPONSE) };
const ofGemini = { fields: { ...CALLS, model: "gemini-single" }, image: JSON.stringify(GEMINI_RESPONSE) };
const beforeItsRest = {
  fields: { ...ofGemini.fields, n: 1 },
  image: ofGemini.image.slice(0, -4),
  rest: ofGemini.image.slice(-4),
};

describe("an image of a response that goes on", () => {
  it.each<[string, StoredCase]>([
    ["of a stream", inStream],
    ["of a stream, which the store refuses", { ...inStream, store: createStore({ fails: true }) }],
    ["of a stream, which the store refuses at once", { ...inStream, store: refuseAtOnce, held: [0, 0] }],
    ["of a stream, which afterImage has seen", { ...inStream, afterImage: () => undefined }],
    ["of a stream, which afterImage refuses", { ...inStream, afterImage: refuse }],
    ["of one of several calls", inCall],
    ["of one of several calls, which afterImage refuses", { ...inCall, afterImage: refuse }],
    ["of one of several calls, which breaks off", { ...inCall, isCut: true }],
    [
      "of one of several calls, which is read again for base64",
      { ...inCall, fields: BASE64_CALLS, store: createStore({ canRead: true }) },
    ],
    [
      "of one of several calls without a store",
      { ...inCall, fields: BASE64_CALLS, store: "none", held: [300_000, 400_000] },
    ],
    [
      "of one of several calls without a store, which breaks off",
      { ...inCall, fields: BASE64_CALLS, store: "none", isCut: true, held: [300_000, 0] },
    ],
    ["of Gemini, in case the store fails", { ...beforeItsRest, held: [225_000, 300_000] }],
    ["of one of several calls of Gemini", ofGemini],
    ["of one of several calls of Gemini, which breaks off", { ...ofGemini, isCut: true }],
    [
      "of one of several calls of Gemini, which the store refuses at once",
      { ...ofGemini, store: refuseAtOnce, held: [300_000, 400_000] },
    ],
    [
      "of one of several calls of Gemini, which the store refuses at once and which breaks off",
      { ...ofGemini, store: refuseAtOnce, isCut: true, held: [300_000, 0] },
    ],
    [
      "of one of several calls of Gemini without a store",
      {
        ...ofGemini,
        fields: { ...ofGemini.fields, response_format: "b64_json" },
        store: "none",
        held: [300_000, 400_000],
      },
    ],
  ])("is counted only as long as it is held: %s", async (_what, stored) => {
    const { fields, image, rest = "", isCut = false, afterImage, store = createStore({}) } = stored;
    const { held: [half, end] = [225_000, 0] } = stored;
    const [first, second] = [createScriptedSource(), createScriptedSource()];
    const sources = [first, second].values();
    const type = image === IMAGE_EVENT ? "text/event-stream" : "application/json";
    const test = createTestGateway(
      () =>
        new Response(ReadableStream.from(sources.next().value?.body ?? []), {
          headers: { "content-type": type },
        }),
      {
        families: [gemini],
        models: {
          "seedream-4-5-251128": { family: "seedream" },
          single: { family: "seedream", capabilities: { imagesPerCall: 1 } },
          "gemini-single": { family: "gemini" },
        },
        channels: ["seedream", "gemini"].map((family) => ({ id: family, family, apiKey: ARK_KEY })),
        streamFormat: "openai",
        maxBytesInFlight: MAX_BYTES,
        ...(store !== "none" && { results: { store } }),
        ...(afterImage && { afterImage }),
      },
      { maxHeldImageBytes: 0 },
    );
    const response = test.gateway
      .fetch(createPost({ prompt: "a fox", ...fields }))
      .then((started) => started.text());

    first.send(image.slice(0, 300_000));
    await expect.poll(() => holds(test, half)).toBe(true);
    if (isCut) first.fail(new Error("reset"));
    else first.send(image.slice(300_000));
    if (rest === "") {
      first.end();
      await until(first.isEnded);
    }
    await expect.poll(() => holds(test, end)).toBe(true);
    first.send(rest);
    first.end();
    second.send(image);
    second.end();
    expect(await response).not.toBe("");
    expect(await hasRoom(test, 100)).toBe(true);
    await test.gateway.close();
  });
});

/** A provider that responds with a link, and sends a part of the image behind it. */
function openLinked(respond: (call: number) => Response | Promise<Response>) {
  const image = createScriptedSource();
  let calls = 0;
  const test = createTestGateway(
    ({ url }) => (url.endsWith(".png") ? new Response(ReadableStream.from(image.body)) : respond(calls++)),
    { maxBytesInFlight: MAX_BYTES },
    { maxHeldImageBytes: 0 },
  );
  image.send(new Uint8Array(300_000));
  return { ...test, image };
}

describe("an image behind a link that is too large to be held", () => {
  it("is counted until what has arrived was sent", async () => {
    const test = openLinked(() => Response.json(DASHSCOPE_RESPONSE));
    const ask = { model: "image-2.0-pro", prompt: "a fox", response_format: "b64_json" };
    const response = await test.gateway.fetch(createPost(ask));
    expect(await holds(test, 300_000)).toBe(true);
    const text = response.text();
    await expect.poll(() => holds(test, 0)).toBe(true);
    test.image.end();
    expect(JSON.parse(await text)).toMatchObject({ data: [{ b64_json: "A".repeat(400_000) }] });
  });

  it("is not held while the other calls of the request run", async () => {
    const second = Promise.withResolvers<Response>();
    const test = openLinked((call) => (call === 0 ? Response.json(DASHSCOPE_RESPONSE) : second.promise));
    const ask = { model: "image-max", prompt: "a fox", n: 2, response_format: "b64_json" };
    const response = test.gateway.fetch(createPost(ask));
    await expect.poll(test.image.isEnded).toBe(true);
    expect(await holds(test, 0)).toBe(true);
    second.resolve(Response.json(DASHSCOPE_RESPONSE));
    await (await response).body?.cancel();
    await test.gateway.close();
  });
});

describe("a large response that is held", () => {
  const ask = { ...SMALL, response_format: "b64_json" };

  it("is held until it is read", async () => {
    const test = openLarge();
    const response = await test.gateway.fetch(createPost(ask));
    expect(await isHeld(test)).toBe(true);
    expect(await response.json()).toMatchObject({ data: [{ b64_json: IMAGE }] });
    expect(await isHeld(test)).toBe(false);
  });

  it("is held until its reader has given it up, before it began and after", async () => {
    const test = openLarge();
    const [unread, begun] = await Promise.all([1, 2].map(() => test.gateway.fetch(createPost(ask))));
    const reader = begun?.body?.getReader();
    await reader?.read();
    expect(await isHeld(test)).toBe(true);
    await unread?.body?.cancel();
    await reader?.cancel();
    expect(await isHeld(test)).toBe(false);
  });

  it("is held no longer than the client is there", async () => {
    const test = openLarge();
    const leaving = new AbortController();
    const response = await test.gateway.fetch(new Request(createPost(ask), { signal: leaving.signal }));
    expect(await isHeld(test)).toBe(true);
    leaving.abort();
    expect(await isHeld(test)).toBe(false);
    expect(response.status).toBe(200);
  });

  it("is not held if the client disconnected before it arrived", async () => {
    const waiting = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const test = open(async () => {
      asked.resolve();
      await waiting.promise;
      return Response.json(BASE64_RESPONSE);
    });
    const leaving = new AbortController();
    const response = test.gateway.fetch(new Request(createPost(ask), { signal: leaving.signal }));
    await asked.promise;
    leaving.abort();
    waiting.resolve();
    await response;
    expect(await isHeld(test)).toBe(false);
  });

  it("counts above the limit if necessary, and other requests are refused until it was sent", async () => {
    const test = open(() => Response.json({ ...ARK_RESPONSE, data: [{ b64_json: "A".repeat(2_000_000) }] }));
    const response = await test.gateway.fetch(createPost(ask));
    expect((await test.post(SMALL)).status).toBe(503);
    await response.arrayBuffer();
    expect((await test.post(SMALL)).status).toBe(200);
  });

  it("keeps its caller's place as well", async () => {
    const test = openLarge();
    const responses = await Promise.all([1, 2, 3, 4, 5].map(() => test.gateway.fetch(createPost(ask))));
    expect((await test.post(SMALL)).status).not.toBe(200);
    for (const response of responses) await response.body?.cancel();
    const last = await test.post(SMALL);
    expect(last.status).toBe(200);
  });
});
