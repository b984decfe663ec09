import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { countColor, inspect } from "../test-support/images.js";
import { openaiClient } from "../test-support/openai-client.js";

const model = "gpt-image-2.5-flare";

function decode(b64: string | undefined): Promise<Awaited<ReturnType<typeof inspect>>> {
  return inspect(Buffer.from(b64 ?? "", "base64"));
}

describe("a generation of OpenAI", () => {
  it("responds with the settings, base64 and usage, and nothing else", async () => {
    const emulator = createEmulator({ images: "tiny", now: () => 1_763_683_200_900 });
    const body = await openaiClient(emulator).images.generate({ model, prompt: "a fox in snow" });
    expect(body).toStrictEqual({
      created: 1_763_683_200,
      background: "opaque",
      output_format: "png",
      size: "1024x1024",
      quality: "high",
      data: [{ b64_json: expect.any(String) }],
      usage: {
        input_tokens: 4,
        input_tokens_details: { text_tokens: 4, image_tokens: 0 },
        output_tokens: 7033,
        output_tokens_details: { image_tokens: 7033, text_tokens: 0 },
        total_tokens: 7037,
      },
    });
  });

  it("has OpenAI's headers", async () => {
    const client = openaiClient(createEmulator({ images: "tiny" }));
    const { response } = await client.images.generate({ model, prompt: "a fox" }).withResponse();
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-request-id": expect.stringMatching(/^req_/),
      "openai-processing-ms": expect.stringMatching(/^\d+$/),
      "x-ratelimit-remaining-requests": "499",
      "x-ratelimit-reset-tokens": "6m0s",
    });
  });

  it.each([
    ["png", "1024x1024", 1024, 1024],
    ["jpeg", "1536x1024", 1536, 1024],
    ["webp", "512x1536", 512, 1536],
    ["gif", "1024x1536", 1024, 1536],
  ] as const)("draws %s of %s", async (output_format, size, width, height) => {
    const client = openaiClient(createEmulator());
    const { data } = await client.images.generate({
      model: "gpt-image-2.6-flare",
      prompt: "a fox",
      size,
      output_format,
    });
    expect(await decode(data?.[0]?.b64_json)).toMatchObject({ format: output_format, width, height });
  });

  it("draws svg", async () => {
    const client = openaiClient(createEmulator());
    const fields = { model: "gpt-image-2.6-flare", prompt: "a fox", output_format: "svg" } as const;
    const { data } = await client.images.generate(fields);
    expect(Buffer.from(data?.[0]?.b64_json ?? "", "base64").toString()).toMatch(/^<svg .* width="1024"/);
  });

  it("leaves the background transparent on request", async () => {
    const client = openaiClient(createEmulator());
    const fields = { model, prompt: "a fox", background: "transparent", output_format: "webp" } as const;
    const { data, background } = await client.images.generate(fields);
    const image = await decode(data?.[0]?.b64_json);
    expect([background, image.channels, image.pixels[3]]).toEqual(["transparent", 4, 0]);
  });

  it("makes n different images, and counts the tokens of all", async () => {
    const client = openaiClient(createEmulator());
    const fields = { model, prompt: "a fox", n: 3, quality: "low", size: "256x256" } as const;
    const { data, usage } = await client.images.generate(fields);
    expect(new Set(data?.map(({ b64_json }) => b64_json)).size).toBe(3);
    expect(usage?.output_tokens).toBe(3 * 196);
  });

  it.each([
    ["gpt-image-2", "low", "1024x1024", 200],
    ["gpt-image-2", "medium", "1536x1024", 1367],
    ["gpt-image-2", "high", "3072x2048", 22_000],
    ["gpt-image-2.5-sunburst", "max", "1024x1024", 14_066],
    ["gpt-image-2.6-sunburst", "low", "1024x1024", 686],
    ["gpt-image-1.5", "medium", "1024x1536", 1584],
    ["gpt-image-1-mini", "auto", "1024x1024", 4160],
  ] as const)("%s with quality %s at %s is %i tokens", async (name, quality, size, tokens) => {
    const client = openaiClient(createEmulator({ images: "tiny" }));
    const { usage } = await client.images.generate({ model: name, prompt: "a fox", quality, size });
    expect(usage?.output_tokens).toBe(tokens);
  });

  it.each([
    ["a portrait of a fox", "1024x1536"],
    ["a fox, 16:9", "1536x1024"],
    ["a fox", "1024x1024"],
  ])("chooses the size for %j", async (prompt, expected) => {
    const client = openaiClient(createEmulator({ images: "tiny" }));
    expect((await client.images.generate({ model, prompt, size: "auto" })).size).toBe(expected);
  });
});

describe("an edit of OpenAI", () => {
  it("shows images and mask of a form, and records the parts", async () => {
    const emulator = createEmulator();
    const [image, other, mask] = await Promise.all([png("#20c040"), png("#2040e0"), maskOf(64)]);
    const body = await openaiClient(emulator).images.edit({
      model,
      prompt: "a fox",
      image: [file(image, "狐.png"), file(other, "b.png")],
      mask: file(mask, "mask.png"),
      n: 1,
      quality: "low",
    });
    const drawn = await decode(body.data?.[0]?.b64_json);
    expect(countColor(drawn, [32, 64, 224])).toBeGreaterThan(5000);
    expect(countColor(drawn, [32, 192, 64])).toBeGreaterThan(5000); // the half that the mask keeps
    expect(countColor(drawn, [151, 77, 101])).toBeGreaterThan(5000); // the half under the veil
    // An image of 64 x 64 is one tile.
    expect(body.usage?.input_tokens_details).toEqual({ text_tokens: 2, image_tokens: 2 * 194 });
    const [sent] = emulator.requests;
    expect(sent).toMatchObject({ route: "openai", body: undefined, bodyText: "" });
    expect(sent?.parts).toContainEqual({ name: "prompt", size: 5, text: "a fox" });
    expect(sent?.parts).toContainEqual({
      name: "image[]",
      size: image.byteLength,
      filename: "狐.png",
      type: "image/png",
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it("takes JSON with data URLs and links to this machine", async () => {
    const emulator = createEmulator();
    const image_url = `data:image/png;base64,${(await png("#20c040")).toString("base64")}`;
    const mask = { image_url: `data:image/png;base64,${(await maskOf(64)).toString("base64")}` };
    const fields = { model, prompt: "a fox", images: [{ image_url }], mask, size: "1024x1024" };
    const body = await openaiClient(emulator).post<{ data: { b64_json: string }[] }>("/images/edits", {
      body: fields,
    });
    expect(countColor(await decode(body.data[0]?.b64_json), [151, 77, 101])).toBeGreaterThan(5000);
  });

  it("draws a markup over the image", async () => {
    const image = file(await png("#20c040"), "a.png");
    const markup = file(await png("#ff000080", true), "m.png");
    const client = openaiClient(createEmulator());
    const { data } = await client.images.edit({ model, prompt: "a fox", image, markup });
    expect(countColor(await decode(data?.[0]?.b64_json), [144, 96, 32])).toBeGreaterThan(5000);
  });

  it.each([
    ["no image", {}, "Missing required parameter: 'image'."],
    ["a mask of another size", { mask: maskOf(32) }, "mask size does not match image size"],
    ["a mask without alpha", { mask: png("#000") }, "must be a PNG with an alpha channel"],
    ["a file that is no image", { image: Promise.resolve(Buffer.from("text")) }, "Invalid image file"],
  ])("refuses %s", async (_name, parts, message) => {
    const form = new FormData();
    form.set("model", model);
    form.set("prompt", "a fox");
    if ("mask" in parts) form.append("image", new Blob([new Uint8Array(await png("#20c040"))]), "a.png");
    for (const [name, bytes] of Object.entries(parts))
      form.append(name, new Blob([new Uint8Array(await bytes)]), "x.png");
    const response = await createEmulator().fetch("http://emulator.test/openai/v1/images/edits", {
      method: "POST",
      headers: { authorization: "Bearer k" },
      body: form,
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(message);
  });
});

function file(bytes: Buffer, name: string): File {
  return new File([new Uint8Array(bytes)], name, { type: "image/png" });
}

async function png(color: string, alpha = false): Promise<Buffer> {
  const { default: sharp } = await import("sharp");
  const create = { width: 64, height: 64, channels: alpha ? 4 : 3, background: color } as const;
  return sharp({ create }).png().toBuffer();
}

/** Opaque on the left, transparent on the right. */
async function maskOf(side: number): Promise<Buffer> {
  const { default: sharp } = await import("sharp");
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}"><rect width="${side / 2}" height="${side}"/></svg>`;
  return sharp(Buffer.from(svg)).png().toBuffer();
}
