import { describe, expect, it } from "vitest";
import { seedream } from "./families/seedream/seedream.js";
import type { GatewayRequest } from "./http.js";
import { isUploadedImage } from "./images/reference-image.js";
import { PNG_URL } from "./testing/form-bytes.js";
import {
  CALLER_KEY,
  createTestGateway,
  type ReadResponse,
  readResponse,
  refusal,
  type TestGateway,
} from "./testing/test-gateway.js";
import type { JsonObject } from "./util/json.js";

const EDITS = "http://gateway.test/v1/images/edits";
const MODEL = "seedream-4-5-251128";
const LINK = "https://example.com/a.png";
const BODY = { model: MODEL, prompt: "make it red" };
const HEADERS = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
/** Long enough to stay bytes. */
const LONG_URL = `data:image/png;base64,${"A".repeat(100_000)}`;

async function edit({ gateway }: Pick<TestGateway, "gateway">, body: object | string): Promise<ReadResponse> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return readResponse(
    await gateway.fetch(new Request(EDITS, { method: "POST", headers: HEADERS, body: text })),
  );
}

describe("an edit in JSON", () => {
  it.each<[string, object, object]>([
    ["images with a link", { images: [{ image_url: LINK }] }, { image: [LINK] }],
    [
      "images in their order",
      { images: [{ image_url: `${LINK}?1` }, { image_url: PNG_URL }, { image_url: LINK }] },
      { image: [`${LINK}?1`, PNG_URL, LINK] },
    ],
    ["images that are strings", { images: [LINK, PNG_URL] }, { image: [LINK, PNG_URL] }],
    [
      "other fields of an image",
      { images: [{ image_url: LINK, file_id: null, detail: "high" }] },
      { image: [LINK] },
    ],
    ["image", { image: LINK }, { image: LINK }],
    ["a list in image", { image: [LINK, PNG_URL] }, { image: [LINK, PNG_URL] }],
    ["image next to images that are null", { image: LINK, images: null, mask: null }, { image: LINK }],
    ["a long data URL", { images: [{ image_url: LONG_URL }] }, { image: [LONG_URL] }],
    [
      "values with their own types",
      { image: LINK, seed: 5, watermark: false, custom: "7" },
      { image: LINK, seed: 5, watermark: false, custom: "7" },
    ],
    [
      "the rule for n",
      { image: LINK, n: 3 },
      {
        image: LINK,
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 3 },
      },
    ],
  ])("sends %s", async (_what, fields, sent) => {
    const test = createTestGateway();
    const response = await edit(test, { ...BODY, ...fields });
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ model: MODEL, data: [{ url: "https://ark.test/1.png" }] });
    expect(test.calls[0]?.body).toEqual({ ...BODY, ...sent });
    expect(test.records).toMatchObject([{ operation: "edit", model: MODEL }]);
  });

  it("names the fields without effect", async () => {
    const fields = {
      images: [{ image_url: LINK }],
      quality: "auto",
      background: "auto",
      user: "u",
      svg: {},
      input_fidelity: "high",
    };
    const response = await edit(createTestGateway(), { ...BODY, ...fields });
    expect(response.headers.get("x-calotype-ignored")).toBe("quality, background, user, svg, input_fidelity");
  });

  it.each<[string, object, string, string?]>([
    ["no model", { model: undefined, image: LINK }, "model", "model is required"],
    ["neither a model nor an image", { model: undefined }, "model", "model is required"],
    ["an empty model", { model: "", image: LINK }, "model", "model is required"],
    ["a model that is null", { model: null, image: LINK }, "model", "model is required"],
    ["a model that is not a string", { model: 5, image: LINK }, "model"],
    ["no image", {}, "image", "image is required"],
    ["an image that is null", { image: null }, "image", "image is required"],
    ["no images", { images: [] }, "image", "image is required"],
    ["an empty list of image", { image: [] }, "image", "image is required"],
    ["no prompt", { prompt: undefined, image: LINK }, "prompt", "prompt is required."],
    ["image and images", { image: LINK, images: [{ image_url: LINK }] }, "images"],
    ["images that are not a list", { images: { image_url: LINK } }, "images"],
    ["images of numbers", { images: [5] }, "images[0]"],
    ["an image without a link", { images: [{ image_url: LINK }, {}] }, "images[1].image_url"],
    ["a link in an object", { images: [{ image_url: { url: LINK } }] }, "images[0].image_url"],
    ["a link that is not a string", { images: [{ image_url: 5 }] }, "images[0].image_url"],
    ["a link of another kind", { images: [{ image_url: "file:///etc/passwd" }] }, "image[0]"],
    ["a file_id", { images: [{ image_url: LINK }, { file_id: "file-1" }] }, "images[1].file_id"],
    ["a file_id next to a link", { images: [{ image_url: LINK, file_id: "file-1" }] }, "images[0].file_id"],
    ["a file_id of its own", { image: LINK, file_id: "file-1" }, "file_id"],
    ["a mask", { image: LINK, mask: { image_url: LINK } }, "mask"],
    ["a mask and no image", { mask: { image_url: LINK } }, "mask"],
    ["a markup", { image: LINK, markup: { image_url: LINK } }, "markup"],
    ["fifteen images", { images: Array.from({ length: 15 }, () => ({ image_url: LINK })) }, "image"],
    ["a stream in the native format", { image: LINK, stream: true }, "stream"],
    ["a number as a string", { image: LINK, n: "3" }, "n"],
    ["a boolean as a string", { image: LINK, watermark: "true" }, "watermark"],
  ])("is a 400 with %s", async (_what, fields, param, message) => {
    const test = createTestGateway();
    const response = await edit(test, { ...BODY, ...fields });
    expect(response).toMatchObject({ status: 400, body: refusal(param) });
    expect(response.text).toContain(message ?? param);
    expect(test.calls).toEqual([]);
  });

  it.each([
    ["a broken body", `{"model":"${MODEL}"`, 400],
    ["a list", "[]", 400],
    ["a body that is too large", JSON.stringify({ ...BODY, image: "x".repeat(2_000) }), 413],
  ])("is refused: %s", async (_what, body, status) => {
    const test = createTestGateway(undefined, { bodyLimits: { json: 1_000 } });
    expect(await edit(test, body)).toMatchObject({ status });
  });

  it("is refused in another charset", async () => {
    const { gateway } = createTestGateway();
    const headers = { ...HEADERS, "content-type": "application/json; charset=utf-16" };
    const request = new Request(EDITS, {
      method: "POST",
      headers,
      body: JSON.stringify({ ...BODY, image: LINK }),
    });
    expect(await readResponse(await gateway.fetch(request))).toMatchObject({ status: 415 });
  });

  it.each<[string, unknown]>([
    ["an object", { ...BODY, images: [{ image_url: LINK }] }],
    ["a string", JSON.stringify({ ...BODY, images: [{ image_url: LINK }] })],
    ["bytes", new TextEncoder().encode(JSON.stringify({ ...BODY, images: [{ image_url: LINK }] }))],
  ])("may be parsed by the host: %s", async (_what, parsedBody) => {
    const test = createTestGateway();
    const request: GatewayRequest = {
      method: "POST",
      url: "/v1/images/edits",
      headers: new Headers(HEADERS),
      body: null,
      parsedBody,
      bodyConsumed: true,
      signal: new AbortController().signal,
    };
    expect(await test.gateway.handle(request)).toMatchObject({ status: 200 });
    expect(test.calls[0]?.body).toEqual({ ...BODY, image: [LINK] });
  });

  it("keeps long data URLs as bytes", async () => {
    const seen: JsonObject[] = [];
    const family: typeof seedream = {
      ...seedream,
      name: "seen",
      normalize(fields, context) {
        seen.push(fields);
        return seedream.normalize(fields, context);
      },
    };
    const test = createTestGateway(undefined, {
      families: [family],
      models: { seen: { family: "seen" } },
      channels: [{ id: "seen", family: "seen", apiKey: "k" }],
    });
    const images = [{ image_url: LONG_URL }, { image_url: PNG_URL }];
    expect(await edit(test, { model: "seen", prompt: "x", images })).toMatchObject({ status: 200 });
    expect(await edit(test, { model: "seen", prompt: "x", image: LONG_URL })).toMatchObject({ status: 200 });
    expect(seen.map(({ image }) => [image].flat().map(isUploadedImage))).toEqual([[true, false], [true]]);
    expect(test.calls.map(({ body }) => body["image"])).toEqual([[LONG_URL, PNG_URL], LONG_URL]);
  });
});
