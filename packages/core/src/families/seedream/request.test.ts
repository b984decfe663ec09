import { describe, expect, it } from "vitest";
import { createTestGateway, refusal } from "../../testing/test-gateway.js";
import type { ResponseFormat } from "../../types.js";
import type { Capabilities } from "../capabilities.js";
import { applyImageCount, countMaxImages, type SequentialFields } from "./sequential-images.js";

const MODEL = "seedream-4-0-250828";
const URL_OF_IMAGE = "https://example.com/a.png";

/** What Ark gets of these fields, without the model; what they are refused with otherwise. */
async function send(
  fields: object,
  model = MODEL,
): Promise<{ status: number; body: object; sent: object | undefined; ignored: string | null }> {
  const { post, calls } = createTestGateway();
  const { status, body, headers } = await post({ model, prompt: "a fox", ...fields });
  const { model: _model, ...sent } = calls[0]?.body ?? {};
  return {
    status,
    body,
    sent: calls.length === 0 ? undefined : sent,
    ignored: headers.get("x-calotype-ignored"),
  };
}

async function sendText(text: string): Promise<string | undefined> {
  const { post, calls } = createTestGateway();
  await post(text);
  return calls[0]?.text;
}

const auto = (max_images: number, rest: object = {}): object => ({
  sequential_image_generation: "auto",
  sequential_image_generation_options: { max_images, ...rest },
});

describe("the rule for n", () => {
  it.each<[string, object, object]>([
    ["n absent", {}, {}],
    ["n null", { n: null }, {}],
    ["n 0", { n: 0 }, {}],
    ["n 1", { n: 1 }, {}],
    ["n -3", { n: -3 }, {}],
    ["n 4", { n: 4 }, auto(4)],
    ["n 4.0", { n: 4.0 }, auto(4)],
    ["n 4 with auto", { n: 4, sequential_image_generation: "auto" }, auto(4)],
    [
      "n 4 with disabled",
      { n: 4, sequential_image_generation: "disabled" },
      { sequential_image_generation: "disabled" },
    ],
    ["n 4 with max_images 2", { n: 4, sequential_image_generation_options: { max_images: 2 } }, auto(2)],
    ["n 4 with both", { n: 4, ...auto(2) }, auto(2)],
    [
      "n 4 with disabled and max_images",
      { n: 4, ...auto(2), sequential_image_generation: "disabled" },
      { ...auto(2), sequential_image_generation: "disabled" },
    ],
    ["n 4 with empty options", { n: 4, sequential_image_generation_options: {} }, auto(4)],
    [
      "n 4 with other options",
      { n: 4, sequential_image_generation_options: { style: "calm" } },
      auto(4, { style: "calm" }),
    ],
    ["n 4 with null options", { n: 4, sequential_image_generation_options: null }, auto(4)],
    ["n 4 with null mode", { n: 4, sequential_image_generation: null }, auto(4)],
    ["n 1 with auto", { n: 1, sequential_image_generation: "auto" }, { sequential_image_generation: "auto" }],
    ["n 1 with max_images 3", { n: 1, ...auto(3) }, auto(3)],
    ["n 99 with max_images 3", { n: 99, ...auto(3) }, auto(3)],
    [
      "n 99 with disabled",
      { n: 99, sequential_image_generation: "disabled" },
      { sequential_image_generation: "disabled" },
    ],
    ["no n, auto alone", { sequential_image_generation: "auto" }, { sequential_image_generation: "auto" }],
    [
      "no n, max_images alone",
      { sequential_image_generation_options: { max_images: 3 } },
      { sequential_image_generation_options: { max_images: 3 } },
    ],
  ])("%s", async (_what, fields, expected) => {
    expect((await send(fields)).sent).toEqual({ prompt: "a fox", ...expected });
  });

  it.each([["3"], [2.5], [true], [[]], [[4]], [{}], [1e21], [2 ** 53], ["auto"], [""]])(
    "n %j is refused",
    async (n) => {
      expect(await send({ n })).toMatchObject({ status: 400, body: refusal("n"), sent: undefined });
    },
  );

  it("n 1e999 is refused", async () => {
    const { post, calls } = createTestGateway();
    expect(await post(`{"model":"${MODEL}","prompt":"x","n":1e999}`)).toMatchObject({
      status: 400,
      body: refusal("n"),
    });
    expect(calls).toEqual([]);
  });

  it.each<[SequentialFields, number, number]>([
    [{}, 3, 1],
    [
      { sequential_image_generation: "disabled", sequential_image_generation_options: { max_images: 9 } },
      0,
      1,
    ],
    [{ sequential_image_generation: "auto" }, 0, 15],
    [{ sequential_image_generation: "auto" }, 4, 11],
    [{ sequential_image_generation: "auto" }, 14, 1],
    [{ sequential_image_generation: "auto" }, 20, 1],
    [{ sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 6 } }, 4, 6],
  ])("%j with %i references makes at most %i images", (fields, references, expected) => {
    expect(countMaxImages(fields, references, { images: 15, imagesAndReferences: 15 })).toBe(expected);
  });

  it("auto alone makes at most what one call can make", () => {
    const fields = { sequential_image_generation: "auto" } as const;
    expect(countMaxImages(fields, 4, { images: 6, imagesAndReferences: 15 })).toBe(6);
    expect(countMaxImages(fields, 10, { images: 6, imagesAndReferences: 15 })).toBe(5);
  });

  it("leaves the client's fields as they are", () => {
    const explicit: SequentialFields = Object.freeze({
      sequential_image_generation_options: Object.freeze({ a: 1 }),
    });
    expect(applyImageCount(3, explicit)).toEqual(auto(3, { a: 1 }));
    expect(explicit).toEqual({ sequential_image_generation_options: { a: 1 } });
  });
});

const references = (count: number): string[] => Array.from({ length: count }, () => URL_OF_IMAGE);

describe("counts", () => {
  it.each<[string, object]>([
    ["n 15", { n: 15 }],
    ["max_images 15", auto(15)],
    ["14 references", { image: references(14) }],
    ["14 references and auto", { image: references(14), sequential_image_generation: "auto" }],
    ["10 references and n 5", { image: references(10), n: 5 }],
    ["n 16 under max_images 15", { n: 16, ...auto(15) }],
  ])("%s are taken", async (_what, fields) => {
    expect(await send(fields)).toMatchObject({ status: 200 });
  });

  it.each<[string, object, string, RegExp]>([
    ["n 16", { n: 16 }, "n", /16 images; at most 15/],
    ["n of the largest whole number", { n: 2 ** 53 - 1 }, "n", /at most 15/],
    ["max_images 16", auto(16), "sequential_image_generation_options.max_images", /at most 15/],
    [
      "n 4 over max_images 16",
      { n: 4, sequential_image_generation_options: { max_images: 16 } },
      "sequential_image_generation_options.max_images",
      /at most 15/,
    ],
    ["15 references", { image: references(15) }, "image", /15 reference images; at most 14/],
    ["10 references and n 6", { image: references(10), n: 6 }, "n", /10 reference images and 6 images.*15/],
    [
      "10 references and max_images 6",
      { image: references(10), ...auto(6) },
      "sequential_image_generation_options.max_images",
      /15/,
    ],
    ["max_images 0", auto(0), "sequential_image_generation_options.max_images", /at least 1/],
    ["max_images -1", auto(-1), "sequential_image_generation_options.max_images", /at least 1/],
  ])("%s are refused, with the limit", async (_what, fields, param, message) => {
    expect(await send(fields)).toMatchObject({
      status: 400,
      body: { error: { param, message: expect.stringMatching(message) } },
      sent: undefined,
    });
  });
});

async function sendWith(capabilities: Capabilities, fields: object) {
  const seen: number[] = [];
  const { post } = createTestGateway(undefined, {
    models: { own: { family: "seedream", capabilities } },
    beforeSend: ({ maxImages }) => void seen.push(maxImages),
  });
  const { status, body } = await post({ model: "own", prompt: "a fox", ...fields });
  return { status, body, maxImages: seen[0] };
}

describe("the counts of the operator's own row", () => {
  const AUTO = { sequential_image_generation: "auto" };

  it.each<[Capabilities, number]>([
    [{ imagesPerCall: 1 }, 1],
    [{ imagesPerCall: 6 }, 6],
    [{ imagesPerCall: 6, maxReferencesAndImages: 4 }, 4],
  ])("%j: auto without a number makes at most %i images", async (capabilities, maxImages) => {
    expect(await sendWith(capabilities, AUTO)).toMatchObject({ status: 200, maxImages });
  });

  it.each<[Capabilities, object, string, RegExp]>([
    [{ imagesPerCall: 1 }, { ...AUTO, n: 2 }, "n", /^n asks for 2 images; at most 1 are allowed/],
    [
      { imagesPerCall: 1 },
      auto(2),
      "sequential_image_generation_options.max_images",
      /max_images asks for 2 images; at most 1 are allowed/,
    ],
    [
      { references: { max: 3 }, maxReferencesAndImages: 3 },
      { image: references(3) },
      "image",
      /3 reference images and 1 images to make are more than the 3 allowed/,
    ],
  ])("%j refuse %j with the param %s", async (capabilities, fields, param, message) => {
    expect(await sendWith(capabilities, fields)).toMatchObject({
      status: 400,
      body: { error: { param, message: expect.stringMatching(message) } },
    });
  });
});

describe("fields", () => {
  it.each<[string, object]>([
    [
      "every known field",
      {
        size: "2K",
        response_format: "b64_json",
        output_format: "png",
        watermark: true,
        seed: 7,
        guidance_scale: 2.5,
        optimize_prompt_options: { mode: "fast" },
      },
    ],
    ["false and 0", { watermark: false, seed: 0, guidance_scale: 0, stream: false }],
    ["an output format of any kind", { output_format: "tiff 2000" }],
    ["a negative seed", { seed: -1 }],
    ["one image", { image: URL_OF_IMAGE }],
    ["a list of one image", { image: [URL_OF_IMAGE] }],
    ["unknown fields", { tools: [{ type: "web_search" }], future: { deep: [null, false, 0, ""] } }],
    ["other options of a prompt", { optimize_prompt_options: { mode: "fast", more: null } }],
    ["names of the object's own", { constructor: 1, toString: { a: 1 }, valueOf: false }],
    ["a lone surrogate", { note: "\ud800" }],
  ])("%s are forwarded as sent", async (_what, fields) => {
    const { status, sent, ignored } = await send(fields);
    expect({ status, sent, ignored }).toEqual({
      status: 200,
      sent: { prompt: "a fox", ...fields },
      ignored: null,
    });
  });

  it("nothing is added to what was sent", async () => {
    expect((await send({})).sent).toEqual({ prompt: "a fox" });
  });

  it("null at the top level means absent", async () => {
    const fields = {
      n: null,
      size: null,
      image: null,
      watermark: null,
      seed: null,
      stream: null,
      mask: null,
      style: null,
      future: null,
    };
    expect(await send(fields)).toMatchObject({ status: 200, sent: { prompt: "a fox" }, ignored: null });
    expect(Object.keys((await send(fields)).sent ?? {})).toEqual(["prompt"]);
  });

  it("__proto__ is one more unknown field", async () => {
    const text = `{"model":"${MODEL}","prompt":"x","__proto__":{"n":4,"size":"junk","watermark":"junk"}}`;
    expect(await sendText(text)).toBe(text);
    expect({}).not.toHaveProperty("n");
  });

  it("the client's model never reaches the provider beside the mapped one", async () => {
    const { post, calls } = createTestGateway(undefined, {
      channels: [
        { id: "ark", family: "seedream", apiKey: "k", modelMapping: { [MODEL]: "ep-1" } },
        { id: "b", family: "qwen-image", apiKey: "k" },
      ],
      models: { [MODEL]: { family: "seedream" } },
    });
    await post({ prompt: "x", model: MODEL });
    expect(calls[0]?.text.match(/"model"/g)).toHaveLength(1);
    expect(calls[0]?.body["model"]).toBe("ep-1");
  });

  it("those of OpenAI alone are left out and named", async () => {
    const fields = {
      quality: "hd",
      style: "vivid",
      user: "u",
      background: "auto",
      moderation: "low",
      input_fidelity: "high",
      output_compression: 100,
      partial_images: 0,
    };
    expect(await send({ ...fields, seed: 1 })).toMatchObject({
      status: 200,
      ignored:
        "quality, style, user, background, moderation, input_fidelity, output_compression, partial_images",
    });
    expect((await send({ ...fields, seed: 1 })).sent).toEqual({ prompt: "a fox", seed: 1 });
  });

  it.each<[object, string]>([
    [{ prompt: undefined }, "prompt"],
    [{ prompt: null }, "prompt"],
    [{ prompt: "" }, "prompt"],
    [{ prompt: 5 }, "prompt"],
    [{ prompt: ["a"] }, "prompt"],
    [{ mask: URL_OF_IMAGE }, "mask"],
    [{ mask: false }, "mask"],
    [{ size: 1024 }, "size"],
    [{ size: { width: 1 } }, "size"],
    [{ response_format: "base64" }, "response_format"],
    [{ response_format: "" }, "response_format"],
    [{ output_format: 1 }, "output_format"],
    [{ watermark: "false" }, "watermark"],
    [{ watermark: 0 }, "watermark"],
    [{ image: [] }, "image"],
    [{ image: 5 }, "image"],
    [{ image: {} }, "image"],
    [{ image: [URL_OF_IMAGE, 5] }, "image"],
    [{ image: [URL_OF_IMAGE, null] }, "image"],
    [{ image: [[URL_OF_IMAGE]] }, "image"],
    [{ image: "" }, "image"],
    [{ image: [URL_OF_IMAGE, ""] }, "image[1]"],
    [{ image: "file:///etc/passwd" }, "image"],
    [{ image: "data:image/svg+xml;base64,AAAA" }, "image"],
    [{ seed: 1.5 }, "seed"],
    [{ seed: "1" }, "seed"],
    [{ guidance_scale: "2" }, "guidance_scale"],
    [{ guidance_scale: true }, "guidance_scale"],
    [{ sequential_image_generation: "on" }, "sequential_image_generation"],
    [{ sequential_image_generation: true }, "sequential_image_generation"],
    [{ sequential_image_generation_options: 4 }, "sequential_image_generation_options"],
    [{ sequential_image_generation_options: [] }, "sequential_image_generation_options"],
    [
      { sequential_image_generation_options: { max_images: null } },
      "sequential_image_generation_options.max_images",
    ],
    [
      { sequential_image_generation_options: { max_images: "3" } },
      "sequential_image_generation_options.max_images",
    ],
    [
      { sequential_image_generation_options: { max_images: 1.5 } },
      "sequential_image_generation_options.max_images",
    ],
    [{ stream: "true" }, "stream"],
    [{ stream: 1 }, "stream"],
    [{ optimize_prompt_options: "fast" }, "optimize_prompt_options"],
    [{ optimize_prompt_options: [] }, "optimize_prompt_options"],
  ])("%j is refused with its field", async (fields, param) => {
    expect(await send(fields)).toMatchObject({ status: 400, body: refusal(param), sent: undefined });
  });

  it("a data URL gets its media type in lower case, wherever it stands", async () => {
    const image = ["DATA:image/PNG;base64,AAAA", URL_OF_IMAGE];
    expect((await send({ image })).sent).toMatchObject({
      image: ["data:image/png;base64,AAAA", URL_OF_IMAGE],
    });
    expect((await send({ image: image[0] })).sent).toMatchObject({ image: "data:image/png;base64,AAAA" });
  });
});

describe("sizes", () => {
  it.each([
    [
      "seedream-5-0-260128",
      ["2K", "3k", "4K", "2048x2048", "3750x1250", "1920x1920", "4096x4096", "7680x480", "480x7680"],
    ],
    ["seedream-4-5-251128", ["2K", "2k", "4K", "3750x1250", "1920x1920", "4096x4096", "16384x1024"]],
    [MODEL, ["1K", "1k", "2K", "4K", "1024x1024", "960x960", "3840x240", "240x3840", "4096x4096"]],
    ["doodle", ["1x1", "8K", "huge", "", "99999x1"]],
  ])("%s takes them", async (model, sizes) => {
    for (const size of sizes)
      expect(await send({ size }, model)).toMatchObject({ status: 200, sent: { size } });
  });

  it.each([
    [
      "seedream-5-0-260128",
      ["1K", "5K", "1024x1024", "1500x1500", "1919x1921", "4096x4097", "7681x480", "7680x479"],
    ],
    ["seedream-4-5-251128", ["1K", "3K", "1024x1024", "1500x1500", "4097x4096", "16385x1024"]],
    [
      MODEL,
      [
        "3K",
        "512x512",
        "959x961",
        "4097x4096",
        "3841x240",
        "3840x239",
        "1024*1024",
        "1024X1024",
        "1024",
        "",
        "K",
        "2K ",
        "1024x1024x1",
      ],
    ],
  ])("%s refuses them and lists its own", async (model, sizes) => {
    for (const size of sizes) {
      expect({ size, ...(await send({ size }, model)) }).toMatchObject({
        size,
        status: 400,
        body: {
          error: { param: "size", message: expect.stringMatching(/send \dK, or .*<width>x<height> with/) },
        },
        sent: undefined,
      });
    }
  });

  it.each(["auto", "adaptive", null])("%j means the provider's default", async (size) => {
    for (const model of [MODEL, "doodle"])
      expect((await send({ size }, model)).sent).toEqual({ prompt: "a fox" });
  });

  it("are those of the row that the operator named or gave", async () => {
    const models = {
      mine: { family: "seedream", capabilities: "doubao-seedream-4-5-251128" },
      tiny: {
        family: "seedream",
        capabilities: { size: { presets: ["S"] }, imagesPerCall: 2, references: { max: 1 } },
      },
      plain: { family: "seedream", capabilities: { size: "none" as const } },
    };
    const { post } = createTestGateway(undefined, { models });
    const statusOf = async (fields: object): Promise<number> =>
      (await post({ prompt: "x", ...fields })).status;
    expect(await statusOf({ model: "mine", size: "1K" })).toBe(400);
    expect(await statusOf({ model: "mine", size: "4K" })).toBe(200);
    expect(await statusOf({ model: "tiny", size: "s" })).toBe(200);
    expect(await statusOf({ model: "tiny", size: "2K" })).toBe(400);
    expect(await statusOf({ model: "tiny", n: 3 })).toBe(400);
    expect(await statusOf({ model: "tiny", image: [URL_OF_IMAGE, URL_OF_IMAGE] })).toBe(400);
    expect(await statusOf({ model: "plain", size: "2K" })).toBe(400);
    expect(await statusOf({ model: "plain" })).toBe(200);
  });
});

describe("the response format", () => {
  const url = "url" as const;
  const b64 = "b64_json" as const;

  it.each<
    [
      string,
      Record<"request" | "caller" | "model" | "gateway", ResponseFormat | undefined>,
      ResponseFormat | undefined,
    ]
  >([
    ["nothing", { request: undefined, caller: undefined, model: undefined, gateway: undefined }, undefined],
    ["the gateway", { request: undefined, caller: undefined, model: undefined, gateway: b64 }, b64],
    ["the model over the gateway", { request: undefined, caller: undefined, model: b64, gateway: url }, b64],
    ["the caller over the model", { request: undefined, caller: b64, model: url, gateway: url }, b64],
    ["the request over all", { request: b64, caller: url, model: url, gateway: url }, b64],
    ["the request that asks for links", { request: url, caller: b64, model: b64, gateway: b64 }, url],
  ])("is set by %s", async (_who, formats, expected) => {
    const { post, calls } = createTestGateway(undefined, {
      models: { [MODEL]: { family: "seedream", responseFormat: formats.model } },
      authenticate: () => ({ id: "me", responseFormat: formats.caller }),
      callers: undefined,
      responseFormat: formats.gateway,
    });
    await post({ model: MODEL, prompt: "x", response_format: formats.request });
    expect(calls[0]?.body["response_format"]).toBe(expected);
  });
});
