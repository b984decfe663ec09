import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { seedream } from "./families/index.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  GENERATIONS,
  NATIVE,
  readResponse,
  type TestGateway,
} from "./testing/test-gateway.js";
import type { ImageRequest } from "./types.js";

const MODEL = "seedream-4-5-251128";

const dataUrlOf = (fill: string, mediaType = "image/png"): string =>
  `data:${mediaType};base64,${Buffer.alloc(90_000, fill).toString("base64")}`;
const FIRST = dataUrlOf("first");
const SECOND = dataUrlOf("second", "image/jpeg");
const URL = "https://images.test/1.png";

/** The same JSON in another spelling: data URLs that are written so are read as texts. */
const withEscapes = (body: object): string => JSON.stringify(body).replaceAll(";base64,", ";base64\\u002c");

const messages = (...content: readonly object[]): object => ({
  model: "image-edit-plus",
  prompt: "-",
  input: { messages: [{ role: "user", content }] },
});

/** The response of the client, and the call to the provider. */
async function ask({ gateway, calls }: TestGateway, body: string, url = GENERATIONS): Promise<object> {
  const before = calls.length;
  const { status, text } = await readResponse(await gateway.fetch(new Request(url, createPost(body))));
  return {
    status,
    text: text.replace(/"created":\d+/, ""),
    sent: calls.slice(before).map((call) => call.text),
  };
}

describe("long data URLs", () => {
  it.each<[string, object, number, string?]>([
    ["one image", { model: MODEL, prompt: "a fox", image: FIRST }, 200],
    [
      "several, a link among them",
      { model: MODEL, prompt: "a fox", image: [FIRST, URL, SECOND, FIRST] },
      200,
    ],
    ["sent on as they are", { model: MODEL, prompt: "a fox", image: [FIRST, SECOND], more: 1 }, 200, NATIVE],
    [
      "in fields that the native endpoint does not know",
      { model: MODEL, prompt: "a", x: { image: [FIRST] } },
      200,
      NATIVE,
    ],
    ["in a field that is sent on", { model: MODEL, prompt: "a fox", style_reference: { image: FIRST } }, 200],
    ["in a field that is left out", { model: MODEL, prompt: "a fox", user: FIRST }, 200],
    ["as the prompt", { model: MODEL, prompt: FIRST }, 200],
    ["in the shorthand", { model: "image-edit-plus", prompt: "a fox", image: [FIRST, SECOND] }, 200],
    ["in messages", messages({ image: FIRST }, { text: "a fox" }, { image: SECOND }), 200],
    ["of a wrong type", { model: MODEL, prompt: "a fox", image: dataUrlOf("x", "image/svg+xml") }, 400],
    ["of a wrong type in messages", messages({ image: dataUrlOf("x", "image/heic") }, { text: "a" }), 400],
    [
      "of a wrong type, as they are",
      { model: MODEL, prompt: "a", image: dataUrlOf("x", "text/html") },
      200,
      NATIVE,
    ],
    ["in capitals", { model: MODEL, prompt: "a fox", image: FIRST.replace("image/png", "IMAGE/PNG") }, 200],
    ["with a letter that is not base64", { model: MODEL, prompt: "a fox", image: `${FIRST}*` }, 400],
    ["more than are allowed", { model: MODEL, prompt: "a fox", image: Array(15).fill(FIRST) }, 400],
    [
      "more than the requested images leave room for",
      { model: MODEL, prompt: "a", n: 14, image: [FIRST, FIRST] },
      400,
    ],
    [
      "counted by the native endpoint",
      { model: MODEL, prompt: "a", sequential_image_generation: "auto", image: Array(15).fill(FIRST) },
      200,
      NATIVE,
    ],
    ["as a mask", { model: MODEL, prompt: "a fox", image: FIRST, mask: FIRST }, 400],
    ["in a list in a list", { model: MODEL, prompt: "a fox", image: [[FIRST]] }, 400],
    ["in an object that is image", { model: MODEL, prompt: "a fox", image: { url: FIRST } }, 400],
    ["in an item with a text", messages({ image: FIRST, text: "a" }), 400],
    ["as the text of an item", messages({ text: FIRST }, { image: FIRST }), 200],
    ["for an unknown model", { model: "none", prompt: "a fox", image: FIRST }, 404],
  ])("are the same to all as texts: %s", async (_what, body, status, url) => {
    const test = createTestGateway();
    const response = await ask(test, JSON.stringify(body), url);
    expect(response).toMatchObject({ status });
    expect(response).toEqual(await ask(test, withEscapes(body), url));
  });

  it("are sent again to the next channel", async () => {
    const channels = ["a", "b"].map((id, index) => ({
      id,
      family: "seedream",
      apiKey: ARK_KEY,
      priority: index,
    }));
    let calls = 0;
    const refuseFirst = (): Response =>
      calls++ === 0 ? Response.json({}, { status: 429 }) : Response.json(ARK_RESPONSE);
    const test = createTestGateway(refuseFirst, { models: { [MODEL]: { family: "seedream" } }, channels });
    const body = { model: MODEL, prompt: "a fox", image: [FIRST, SECOND] };
    expect((await test.post(body)).status).toBe(200);
    expect(test.calls.map((call) => call.body)).toEqual([body, body]);
  });

  it("make the same request under an idempotency key, however they are written", async () => {
    const test = createTestGateway();
    const body = { model: MODEL, prompt: "a fox", image: [FIRST, SECOND], user: FIRST };
    const key = { "idempotency-key": "one" };
    const first = await test.post(JSON.stringify(body), key);
    const again = await test.post(withEscapes(body), key);
    expect(again).toMatchObject({ status: 200, text: first.text });
    expect(test.calls.length).toBe(1);
    const other = await test.post({ ...body, image: [SECOND, FIRST] }, key);
    expect(other).toMatchObject({ status: 422, body: { error: { code: "idempotency_conflict" } } });
  });

  it("are texts to beforeSend", async () => {
    const seen: ImageRequest[] = [];
    const test = createTestGateway(undefined, { beforeSend: (request) => void seen.push(request) });
    await test.post({ model: MODEL, prompt: "a fox", image: [FIRST, URL] });
    expect(seen).toMatchObject([{ images: [FIRST, URL], upstreamFields: { image: [FIRST, URL] } }]);
  });

  it("are texts to a family that does not take them as bytes", async () => {
    const { takesImageBytes: _taken, ...family } = seedream;
    const seen: unknown[] = [];
    const plain: typeof seedream = {
      ...family,
      name: "plain",
      normalize(fields, context) {
        seen.push(fields["image"]);
        return family.normalize(fields, context);
      },
    };
    const test = createTestGateway(undefined, {
      families: [plain],
      models: { doodle: { family: "plain" } },
      channels: [{ id: "plain", family: "plain", apiKey: ARK_KEY }],
    });
    expect((await test.post({ model: "doodle", prompt: "a fox", image: [FIRST, SECOND] })).status).toBe(200);
    expect(seen).toEqual([[FIRST, SECOND]]);
  });
});
