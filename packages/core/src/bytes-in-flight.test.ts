import { describe, expect, it } from "vitest";
import { seedream } from "./families/index.js";
import type { GatewayRequest } from "./http.js";
import { FORM_TYPE, formBytes, inPieces, PNG } from "./testing/form-bytes.js";
import { createOpenStreams } from "./testing/open-streams.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  CALLER_KEY,
  createPost,
  createTestGateway,
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
