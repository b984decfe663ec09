import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import { askArk, download } from "../test-support/ask.js";
import { countColor, dataUrl, inspectLink } from "../test-support/images.js";

const v55 = "doubao-seedream-5-5-261028";
const pro = "doubao-seedream-5-0-pro-260628";
const flash = "doubao-seedream-5-0-flash-260915";

async function askLayers(emulator: Emulator, fields: object = {}) {
  const image = await dataUrl({ width: 300, height: 200 });
  return askArk(emulator, { model: flash, layer_decomposition: true, image, size: "2K", ...fields });
}

describe("a response with layers", () => {
  it("contains the base image, then the layers with their places", async () => {
    const { status, body } = await askLayers(createEmulator({ images: "tiny" }), { prompt: "5 layers" });
    expect(status).toBe(200);
    const [base, ...layers] = body.data;
    expect(Object.keys(base ?? {})).toEqual(["url", "size", "output_format"]);
    expect(base).toMatchObject({ size: "2496x1664", output_format: "jpeg" });
    expect(layers.map(({ z_index }) => z_index)).toEqual([1, 2, 3, 4, 5]);
    for (const layer of layers) {
      const [left = -1, top = -1, right = 0, bottom = 0] = layer.bounding_box ?? [];
      expect(layer).toStrictEqual({
        url: expect.stringContaining(".png?"),
        size: `${right - left}x${bottom - top}`,
        output_format: "png",
        z_index: expect.any(Number),
        bounding_box: [left, top, right, bottom],
        name: expect.stringMatching(/./),
        description: expect.stringMatching(/./),
      });
      expect(Math.min(left, top)).toBeGreaterThanOrEqual(0);
      expect([right <= 2496, bottom <= 1664]).toEqual([true, true]);
    }
  });

  it("counts the base image and the layers, each with its own pixels", async () => {
    const { body } = await askLayers(createEmulator({ images: "tiny" }));
    const pixels = body.data.map(({ size = "" }) => {
      const [width = 0, height = 0] = size.split("x").map(Number);
      return width * height;
    });
    const tokens = Math.floor(pixels.reduce((sum, count) => sum + count, 0) / 256);
    expect(body.usage).toStrictEqual({
      generated_images: body.data.length,
      input_images: 0,
      output_tokens: tokens,
      total_tokens: tokens,
    });
  });

  it.each([
    [v55, 99],
    [pro, 16],
    [flash, 16],
  ])("of %s contains at most %i layers", async (model, most) => {
    const { body } = await askLayers(createEmulator({ images: "tiny" }), { model, prompt: "99 layers" });
    expect(body.data).toHaveLength(1 + most);
  });

  it.each([
    ["五个图层", 5],
    ["two layers", 2],
    ["a fox", 3],
    [undefined, 3],
    ["", 3],
  ])("for the prompt %j contains %i layers", async (prompt, count) => {
    const { body } = await askLayers(createEmulator({ images: "tiny" }), { prompt });
    expect(body.data).toHaveLength(1 + count);
  });

  it.each([["auto"], [undefined], ["1K"], ["1.5k"]])("is made with the size %s", async (size) => {
    expect((await askLayers(createEmulator({ images: "tiny" }), { size })).status).toBe(200);
  });

  it("contains base64 if it was requested", async () => {
    const { body } = await askLayers(createEmulator({ images: "tiny" }), { response_format: "b64_json" });
    for (const { b64_json = "" } of body.data) expect(b64_json.length).toBeGreaterThan(50);
  });

  it.each([
    ["one layer fails", [{ index: 2 }], 400, "OutputImageSensitiveContentDetected"],
    ["the base image fails", [{ index: 0, code: "InternalServiceError" }], 500, "InternalServiceError"],
  ])("is an error if %s", async (_what, failImages, status, code) => {
    const emulator = createEmulator({ images: "tiny" });
    emulator.faults.add({ failImages });
    const response = await askLayers(emulator);
    expect([response.status, response.body.error.code]).toEqual([status, code]);
  });

  it("has layers that are PNGs with opaque and transparent pixels, of the reported size", async () => {
    const emulator = createEmulator();
    const { body } = await askLayers(emulator, { size: "1K" });
    for (const { url, size } of body.data.slice(1)) {
      const { format, width, height, channels, pixels } = await inspectLink(emulator, url);
      expect({ format, channels, size: `${width}x${height}` }).toEqual({ format: "png", channels: 4, size });
      expect(alphaOf(pixels)).toEqual({ transparent: true, opaque: true });
    }
  });
});

describe("an image with a transparent background", () => {
  it.each(["full", "tiny"] as const)("is a PNG with alpha, with images: %s", async (images) => {
    const emulator = createEmulator({ images });
    const { body } = await askArk(emulator, { model: flash, background: "transparent", size: "1K" });
    const { format, channels, pixels } = await inspectLink(emulator, body.data[0]?.url);
    expect({ format, channels }).toEqual({ format: "png", channels: 4 });
    expect(alphaOf(pixels)).toEqual({ transparent: true, opaque: true });
    const { headers } = await download(emulator, body.data[0]?.url);
    expect(headers.get("content-type")).toBe("image/png");
  });

  it("shows its references", async () => {
    const emulator = createEmulator();
    const image = await dataUrl({ alpha: true, width: 300, height: 300, color: "#e02020" });
    const fields = { model: pro, background: "transparent", size: "1K", image };
    const drawn = await inspectLink(emulator, (await askArk(emulator, fields)).body.data[0]?.url);
    expect(drawn.channels).toBe(4);
    expect(countColor(drawn, [224, 32, 32])).toBeGreaterThan(10_000);
  });

  it("is not made with an opaque background", async () => {
    const emulator = createEmulator();
    const fields = { model: flash, background: "opaque", output_format: "png", size: "1K" };
    const { body } = await askArk(emulator, fields);
    expect((await inspectLink(emulator, body.data[0]?.url)).channels).toBe(3);
  });
});

function alphaOf(pixels: Buffer) {
  const values = new Set(pixels.filter((_value, index) => index % 4 === 3));
  return { transparent: values.has(0), opaque: values.has(255) };
}
