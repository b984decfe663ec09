import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { askArk, download } from "../test-support/ask.js";
import { inspect, inspectLink } from "../test-support/images.js";

const batch = (max_images: number) => ({
  sequential_image_generation: "auto",
  sequential_image_generation_options: { max_images },
});

describe("a generation of Ark", () => {
  it("responds with model, created, data and usage, and nothing else", async () => {
    const emulator = createEmulator({ now: () => 1_763_683_200_900 });
    const { status, headers, body } = await askArk(emulator);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toContain("application/json");
    expect(body).toStrictEqual({
      model: "doubao-seedream-4-5-251128",
      created: 1_763_683_200,
      data: [{ url: expect.stringMatching(/^http:\/\/emulator\.test\/ark-results\//), size: "2048x2048" }],
      usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
    });
  });

  it("names the request in the header x-request-id, not in the body", async () => {
    const { headers, text } = await askArk(createEmulator({ now: () => 1_763_683_200_900 }));
    expect(headers.get("x-request-id")).toMatch(/^021763683200900[0-9a-f]{32}$/);
    expect(text).not.toContain(headers.get("x-request-id"));
  });

  it("maps an endpoint id to its model, and responds with the name of the model", async () => {
    const emulator = createEmulator({ arkEndpoints: { "ep-20251128-abcde": "doubao-seedream-4-0-250828" } });
    const { body } = await askArk(emulator, { model: "ep-20251128-abcde", size: "1024x1024" });
    expect(body).toMatchObject({ model: "doubao-seedream-4-0-250828", data: [{ size: "1024x1024" }] });
  });

  it("draws 2048 x 2048 as JPEG with a watermark by default", async () => {
    const emulator = createEmulator();
    const image = await inspectLink(emulator, (await askArk(emulator)).body.data[0]?.url);
    expect(image).toMatchObject({ format: "jpeg", width: 2048, height: 2048 });
  });

  it.each([
    ["seedream-5-0-lite-260128", "png", "png"],
    ["seedream-5-0-lite-260128", "jpeg", "jpeg"],
    ["seedream-4-5-251128", "png", "jpeg"],
    ["seedream-4-0-250828", "png", "jpeg"],
  ])("%s with output_format %s responds with %s", async (model, output_format, expected) => {
    const emulator = createEmulator({ images: "tiny" });
    const { body } = await askArk(emulator, { model, output_format });
    expect(body.data[0]?.url).toContain(`.${expected}?`);
    const response = await download(emulator, body.data[0]?.url);
    expect(response.headers.get("content-type")).toBe(`image/${expected}`);
    expect(await inspect(Buffer.from(await response.arrayBuffer()))).toMatchObject({ format: expected });
  });

  it("responds with b64_json instead of url", async () => {
    const { body } = await askArk(createEmulator(), { response_format: "b64_json", size: "2304x1728" });
    expect(body.data[0]).toStrictEqual({ b64_json: expect.any(String), size: "2304x1728" });
    const image = await inspect(Buffer.from(body.data[0]?.b64_json ?? "", "base64"));
    expect(image).toMatchObject({ format: "jpeg", width: 2304, height: 1728 });
  });

  it("ignores unknown fields, n, quality, seed and guidance_scale, but records them", async () => {
    const emulator = createEmulator();
    const fields = { n: 3, quality: "hd", user: "me", whatever: [1], seed: 7, guidance_scale: 99, mask: "x" };
    const { status, body } = await askArk(emulator, fields);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(1);
    expect(emulator.requests[0]?.body).toMatchObject(fields);
  });

  it("treats null as absent", async () => {
    const fields = { size: null, image: null, stream: null, watermark: null, output_format: null };
    expect((await askArk(createEmulator(), fields)).body.data[0]?.size).toBe("2048x2048");
  });

  it("takes the configured time for each image", async () => {
    const emulator = createEmulator({ millisecondsPerImage: 30 });
    const startedAt = performance.now();
    await askArk(emulator, batch(3));
    expect(performance.now() - startedAt).toBeGreaterThan(85);
  });
});

describe("a batch of Ark", () => {
  it("makes max_images, different images, each with its own link", async () => {
    const { body } = await askArk(createEmulator(), batch(4));
    expect(new Set(body.data.map(({ url }) => url)).size).toBe(4);
    expect(body.usage).toMatchObject({ generated_images: 4, output_tokens: 65_536, total_tokens: 65_536 });
  });

  it("makes up to 15 with auto alone, fewer with references", async () => {
    const auto = { sequential_image_generation: "auto" };
    expect((await askArk(createEmulator(), auto)).body.data).toHaveLength(15);
    const image = Array.from({ length: 14 }, () => "https://example.com/a.png");
    expect((await askArk(createEmulator(), { ...auto, image })).body.data).toHaveLength(1);
  });

  it("contains fewer images than max_images if the prompt says so", async () => {
    const { body } = await askArk(createEmulator(), { ...batch(9), prompt: "画三张不同季节的风景" });
    expect(body.data).toHaveLength(3);
  });

  it("makes one image when max_images is given without auto", async () => {
    const { body } = await askArk(createEmulator(), {
      sequential_image_generation_options: { max_images: 4 },
    });
    expect(body.data).toHaveLength(1);
  });

  it("rounds the tokens of all images down together", async () => {
    const emulator = createEmulator();
    // 1921 x 1921 is 14415.0039 tokens: 15 of them are 216225.06, not 15 roundings.
    const { body } = await askArk(emulator, { ...batch(15), size: "1925x1921" });
    expect(body.usage?.output_tokens).toBe(Math.floor((15 * 1925 * 1921) / 256));
  });

  it("goes on after a moderation failure and counts only what was made", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ failImages: [{ index: 1 }] });
    const { status, body } = await askArk(emulator, batch(3));
    expect(status).toBe(200);
    expect(body.data.map((element) => Object.keys(element))).toEqual([
      ["url", "size"],
      ["error"],
      ["url", "size"],
    ]);
    expect(body.data[1]?.error).toStrictEqual({
      code: "OutputImageSensitiveContentDetected",
      message: expect.stringMatching(/ Request id: 02\d+/),
    });
    expect(body.usage).toMatchObject({ generated_images: 2, output_tokens: 32_768 });
  });

  it("ends at an internal error", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ failImages: [{ index: 1, code: "InternalServiceError", message: "Broken." }] });
    const { body } = await askArk(emulator, batch(4));
    expect(body.data).toHaveLength(2);
    expect(body.data[1]?.error?.message).toMatch(/^Broken\. Request id: /);
    expect(body.usage?.generated_images).toBe(1);
  });

  it("is all errors when every image fails", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ failImages: [{ index: 0 }, { index: 1 }] });
    const { status, body } = await askArk(emulator, batch(2));
    expect(status).toBe(200);
    expect(body.usage).toMatchObject({ generated_images: 0, output_tokens: 0 });
  });
});

describe("sizes of Ark", () => {
  it.each([
    ["2K", "a fox", "2048x2048"],
    ["2k", "a fox, 16:9", "2848x1600"],
    ["4K", "海报 9:16", "3040x5504"],
    ["2K", "a portrait of a fox", "1728x2304"],
    ["4K", "landscape", "4704x3520"],
    ["2K", "竖版海报", "1728x2304"],
    ["2K", "横版海报", "2304x1728"],
    ["2K", "21:9", "3136x1344"],
  ])("preset %s with the prompt %s draws %s", async (size, prompt, expected) => {
    expect((await askArk(createEmulator(), { size, prompt })).body.data[0]?.size).toBe(expected);
  });

  it.each([
    ["seedream-5-0-lite-260128", "3K", "3072x3072"],
    ["seedream-5-0-lite-260128", "4K", "4096x4096"],
    ["seedream-4-0-250828", "1K", "1024x1024"],
    ["seedream-4-0-250828", "1024x1024", "1024x1024"],
    ["seedream-4-0-250828", "1280x720", "1280x720"],
    ["seedream-4-5-251128", "3750x1250", "3750x1250"],
    ["seedream-5-0-lite-260128", "3750x1250", "3750x1250"],
    ["seedream-4-5-251128", "4096X4096", "4096x4096"],
    ["seedream-4-5-251128", "7680x480", "7680x480"],
  ])("%s draws %s as %s", async (model, size, expected) => {
    expect((await askArk(createEmulator(), { model, size })).body.data[0]?.size).toBe(expected);
  });

  it("uses the ratio of the last reference for a preset", async () => {
    const emulator = createEmulator();
    const wide = (await askArk(emulator, { size: "2848x1600" })).body.data[0]?.url;
    const square = (await askArk(emulator)).body.data[0]?.url;
    const { body } = await askArk(emulator, { size: "2K", image: [square, wide] });
    expect(body.data[0]?.size).toBe("2848x1600");
  });

  it("really draws the size that it reports", async () => {
    const emulator = createEmulator();
    const { body } = await askArk(emulator, { size: "1K", prompt: "1:1", model: "seedream-4-0-250828" });
    expect(await inspectLink(emulator, body.data[0]?.url)).toMatchObject({ width: 1024, height: 1024 });
  });
});
