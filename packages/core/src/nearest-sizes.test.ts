import { describe, expect, it } from "vitest";
import type { NormalizeContext } from "./families/family.js";
import { qwenImage } from "./families/qwen-image/qwen-image.js";
import { seedream } from "./families/seedream/seedream.js";
import {
  createTestGateway,
  DASHSCOPE_RESPONSE,
  type Provider,
  type ReadResponse,
  refusal,
} from "./testing/test-gateway.js";
import type { SizeMode } from "./types.js";

const IMAGE = "https://example.com/a.png";
const PRO = seedream.findCapabilities?.("seedream-5-0-pro");
const CONTEXT: Omit<NormalizeContext, "model" | "capabilities"> = {
  operation: "generate",
  defaultResponseFormat: undefined,
  sizes: "nearest",
};

interface Sent {
  readonly response: ReadResponse;
  /** The size that the provider gets. */
  readonly size: unknown;
  readonly sent: Readonly<Record<string, unknown>>;
}

async function send(fields: object, sizes: SizeMode = "nearest", provider?: Provider): Promise<Sent> {
  const { post, calls } = createTestGateway(provider, { sizes });
  const response = await post({ model: "seedream-4-5-251128", prompt: "a fox", ...fields });
  const sent = calls[0]?.body ?? {};
  const { parameters } = sent;
  const size =
    typeof parameters === "object" && parameters !== null && "size" in parameters
      ? parameters.size
      : sent["size"];
  return { response, size, sent };
}

const messages = (size: string): object => ({
  model: "image-max",
  input: { messages: [{ role: "user", content: [{ text: "a fox" }] }] },
  parameters: { size },
});

describe("with sizes: nearest, the provider gets", () => {
  it.each<[string, object, unknown]>([
    ["an accepted size as it came", { size: "2048x2048" }, "2048x2048"],
    ["a size in the spelling of the family", { size: "2048*2048" }, "2048x2048"],
    ["the nearest size", { size: "512x512" }, "1920x1920"],
    ["a preset as it came", { size: "2k" }, "2k"],
    ["the nearest preset", { size: "1K" }, "2K"],
    ["a size for a ratio", { size: "16:9" }, "2736x1539"],
    ["no size for auto", { size: "auto" }, undefined],
    ["no size without size", {}, undefined],
    ["the size of aspect_ratio", { aspect_ratio: "1:1" }, "2048x2048"],
    ["the size of aspect_ratio and resolution", { aspect_ratio: "1:1", resolution: "4K" }, "4096x4096"],
    ["the preset of resolution", { resolution: "4K" }, "4K"],
    ["the preset of resolution with aspect_ratio auto", { aspect_ratio: "auto", resolution: "4K" }, "4K"],
    ["the size of aspect_ratio with size auto", { size: "auto", aspect_ratio: "1:1" }, "2048x2048"],
    ["size, not aspect_ratio", { size: "2048x2048", aspect_ratio: "16:9" }, "2048x2048"],
    ["a list's nearest size", { model: "image-max", size: "1024x1024" }, "1328*1328"],
    ["a list's nearest size, wide", { model: "image-max", size: "1792x1024" }, "1664*928"],
    ["an accepted size in the other family's spelling", { model: "image-max", size: "1664x928" }, "1664*928"],
    ["the nearest size of the standard structure", messages("1024x1024"), "1328*1328"],
    ["pixels for a preset of family B", { model: "image-2.0", size: "1K" }, "1024*1024"],
    ["a ratio of family B", { model: "image-max", aspect_ratio: "9:16" }, "928*1664"],
    [
      "no size that the model does not accept",
      { model: "image-edit", image: IMAGE, size: "1024x1024" },
      undefined,
    ],
    ["any size for a model without a row", { model: "doodle", size: "512x512" }, "512x512"],
    ["any spelling for a model without a row", { model: "doodle", size: "9K" }, "9K"],
    ["a resolution for a model without a row", { model: "doodle", resolution: "2K" }, "2K"],
    [
      "a resolution with aspect_ratio auto for a model without a row",
      { model: "doodle", aspect_ratio: "auto", resolution: "2K" },
      "2K",
    ],
    ["a ratio for a model without a row", { model: "doodle", aspect_ratio: "1:1" }, "2048x2048"],
    ["the spelling of family B for a model without a row", { model: "sketch", size: "512x512" }, "512*512"],
  ])("%s", async (_what, fields, size) => {
    const sent = await send(fields);
    expect(sent.response.status).toBe(200);
    expect(sent.size).toBe(size);
    expect(sent.sent).not.toHaveProperty("resolution");
  });

  it.each([
    { what: "a size", size: "512x512", sent: "1K", replaced: "1K" },
    { what: "a listed size", size: "2k", sent: "2k", replaced: undefined },
    { what: "auto", size: "auto", sent: "auto", replaced: undefined },
    { what: "adaptive, which is not listed", size: "adaptive", sent: undefined, replaced: undefined },
  ])("for layers a size of their own list: $what", ({ size, sent, replaced }) => {
    const fields = { prompt: "a fox", image: IMAGE, layer_decomposition: true, size };
    const request = seedream.normalize(fields, { ...CONTEXT, model: "seedream-5-0-pro", capabilities: PRO });
    expect(request.upstreamFields["size"]).toBe(sent);
    expect(request.replacedSize).toBe(replaced);
  });
});

describe("with sizes: nearest", () => {
  it.each([
    ["large", "size"],
    ["", "size"],
    ["16:9:1", "size"],
  ])("size %j is a 400 that lists what is allowed", async (size, param) => {
    const { response } = await send({ size });
    expect(response).toMatchObject({ status: 400, body: refusal(param) });
    expect(response.text).toContain("2K, or 4K");
  });

  it.each([
    [{ aspect_ratio: "wide" }, "aspect_ratio"],
    [{ aspect_ratio: 1.5 }, "aspect_ratio"],
    [{ aspect_ratio: "16:9", resolution: "high" }, "resolution"],
    [{ aspect_ratio: "1:1", resolution: "16:9" }, "resolution"],
    [{ resolution: 2 }, "resolution"],
  ])("%j is a 400", async (fields, param) => {
    for (const model of ["seedream-4-5-251128", "image-max", "doodle"]) {
      expect((await send({ model, ...fields })).response).toMatchObject({
        status: 400,
        body: refusal(param),
      });
    }
  });

  it.each([
    [{ size: "large" }, "size"],
    [{ parameters: { size: "large" } }, "parameters.size"],
  ])("an unreadable size of family B is a 400: %j", async (fields, param) => {
    expect((await send({ model: "image-max", ...fields })).response).toMatchObject({
      status: 400,
      body: refusal(param),
    });
  });

  it.each([
    [{ size: "1024x1024" }, "size"],
    [{ size: "large" }, "size"],
    [{ parameters: { size: "1024*1024" } }, "parameters.size"],
    [{ aspect_ratio: "1:1", resolution: "1K" }, "aspect_ratio, resolution"],
    [{ size: "auto" }, null],
  ])("a model without sizes ignores %j", async (fields, ignored) => {
    const { response, sent } = await send({ model: "image-edit", image: IMAGE, ...fields });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-calotype-ignored")).toBe(ignored);
    expect(sent["parameters"]).toEqual({});
  });

  it.each([
    { family: seedream, model: "seedream-4-5", size: "512x512", replaced: "1920x1920", pixels: 1920 * 1920 },
    { family: seedream, model: "seedream-4-5", size: "1K", replaced: "2K", pixels: 2848 * 1600 },
    { family: seedream, model: "seedream-4-5", size: "2048*2048", replaced: undefined, pixels: 2048 * 2048 },
    { family: seedream, model: "seedream-4-5", size: "1:1", replaced: "2048x2048", pixels: 2048 * 2048 },
    { family: qwenImage, model: "image-max", size: "512x512", replaced: "1328x1328", pixels: 1328 * 1328 },
    { family: qwenImage, model: "image-max", size: "1328x1328", replaced: undefined, pixels: 1328 * 1328 },
    { family: qwenImage, model: "image-max", size: "1328*1328", replaced: undefined, pixels: 1328 * 1328 },
    { family: qwenImage, model: "sketch", size: "512x512", replaced: undefined, pixels: 512 * 512 },
  ])(
    "$size of $model is held as $pixels pixels, and $replaced is stated",
    ({ family, model, size, replaced, pixels }) => {
      const capabilities = family.findCapabilities?.(model);
      const request = family.normalize({ prompt: "a fox", size }, { ...CONTEXT, model, capabilities });
      expect(request).toMatchObject({ maxPixels: pixels });
      expect(request.replacedSize).toBe(replaced);
    },
  );
});

describe("without the option", () => {
  it.each([
    [{ size: "512x512" }, "size"],
    [{ size: "2048*2048" }, "size"],
    [{ model: "image-edit", image: IMAGE, size: "1024x1024" }, "size"],
    [{ model: "image-max", size: "1024x1024" }, "size"],
    [messages("1328x1328"), "parameters.size"],
  ])("a size that is not accepted is a 400: %j", async (fields, param) => {
    expect((await send({ prompt: "-", ...fields }, "strict")).response).toMatchObject({
      status: 400,
      body: refusal(param),
    });
  });

  it("aspect_ratio and resolution are unknown fields", async () => {
    const fields = { aspect_ratio: "wide", resolution: 2 };
    expect((await send(fields, "strict")).sent).toMatchObject(fields);
    const { response } = await send({ model: "image-max", ...fields }, "strict");
    expect(response.headers.get("x-calotype-ignored")).toBe("aspect_ratio, resolution");
  });

  it("the native endpoint forwards the size as it came, also with the option", async () => {
    const { postNative, calls } = createTestGateway(undefined, { sizes: "nearest" });
    await postNative({ model: "seedream-4-5-251128", prompt: "a fox", size: "512*512", aspect_ratio: "1:1" });
    expect(calls[0]?.body).toMatchObject({ size: "512*512", aspect_ratio: "1:1" });
  });
});

const withUsage =
  (usage: object): Provider =>
  () =>
    Response.json({ ...DASHSCOPE_RESPONSE, usage });

describe("each image of family B states its size", () => {
  it.each([
    { what: "as reported", usage: { width: 640, height: 480, image_count: 1 }, size: "640x480" },
    { what: "as reported by 2.0", usage: { output_width: 640, output_height: 480 }, size: "640x480" },
    { what: "as requested, if the provider reports none", usage: {}, size: "1328x1328" },
  ])("$what", async ({ usage, size }) => {
    const { response } = await send({ model: "image-max", size: "1024x1024" }, "nearest", withUsage(usage));
    expect(response.body["data"]).toEqual([expect.objectContaining({ size })]);
  });

  it.each<[SizeMode, object, object]>([
    ["nearest", {}, {}],
    ["strict", { size: "1328x1328" }, { width: 640, height: 480 }],
  ])("not with sizes: %s, fields %j and usage %j", async (sizes, fields, usage) => {
    const { response } = await send({ model: "image-max", ...fields }, sizes, withUsage(usage));
    expect(response.text).toContain("https://dashscope.test/1.png");
    expect(response.text).not.toContain('"size"');
  });
});
