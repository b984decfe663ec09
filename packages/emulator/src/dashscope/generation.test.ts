import { describe, expect, it } from "vitest";
import { createEmulator, type Emulator } from "../emulator.js";
import { askArk, askDashscope, type DashscopeBody, download } from "../test-support/ask.js";
import { dataUrl, inspectLink } from "../test-support/pictures.js";

const edit = "qwen-image-edit-plus";

function imagesOf(body: DashscopeBody): string[] {
  return body.output.choices.flatMap(({ message }) => message.content.flatMap(({ image }) => image ?? []));
}

async function sizeOf(emulator: Emulator, wish: Parameters<typeof askDashscope>[1]): Promise<string> {
  const { body } = await askDashscope(emulator, wish);
  return `${body.usage?.width}*${body.usage?.height}`;
}

describe("a generation of DashScope", () => {
  it("answers with output, usage and request_id, and nothing else", async () => {
    const { status, headers, body } = await askDashscope(createEmulator());
    expect(status).toBe(200);
    const image = expect.stringMatching(/^http:\/\/emulator\.test\/dashscope-results\/.+\.png\?Expires=\d+/);
    expect(body).toStrictEqual({
      output: {
        choices: [{ finish_reason: "stop", message: { role: "assistant", content: [{ image }] } }],
        task_metric: { TOTAL: 1, SUCCEEDED: 1, FAILED: 0 },
      },
      usage: { width: 2048, height: 2048, image_count: 1 },
      request_id: headers.get("x-request-id"),
    });
    expect(body.request_id).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(headers.get("req-cost-time")).toMatch(/^\d+$/);
  });

  it("draws PNGs of the reported size", async () => {
    const emulator = createEmulator();
    const { body } = await askDashscope(emulator, { model: "qwen-image-max" });
    const picture = await inspectLink(emulator, imagesOf(body)[0]);
    expect(picture).toMatchObject({ format: "png", width: 1664, height: 928 });
    const response = await download(emulator, imagesOf(body)[0]);
    expect(response.headers.get("content-type")).toBe("image/png");
  });

  it("puts several images into the content of one choice", async () => {
    const { body } = await askDashscope(createEmulator(), { parameters: { n: 6 } });
    expect(body.output.choices).toHaveLength(1);
    expect(new Set(imagesOf(body)).size).toBe(6);
    expect(body.usage?.image_count).toBe(6);
    expect(body.output.task_metric).toStrictEqual({ TOTAL: 6, SUCCEEDED: 6, FAILED: 0 });
  });

  it.each([
    "qwen-image-2.0-pro",
    "qwen-image-2.0",
    "qwen-image-2.0-2026-03-03",
    "qwen-image-max",
    "qwen-image-max-2025-12-30",
    "qwen-image-plus",
    "qwen-image-plus-2026-01-09",
  ])("draws from text alone with %s", async (model) => {
    expect((await askDashscope(createEmulator(), { model })).status).toBe(200);
  });

  it.each([
    ["qwen-image-2.0-pro", {}, "2048*2048"],
    ["qwen-image-2.0", { size: "512*512" }, "512*512"],
    ["qwen-image-2.0", { size: "2688*1536" }, "2688*1536"],
    ["qwen-image-2.0", { size: null }, "2048*2048"],
    ["qwen-image-max", {}, "1664*928"],
    ["qwen-image-max", { size: "928*1664" }, "928*1664"],
    ["qwen-image-plus", { size: "1328*1328" }, "1328*1328"],
  ])("%s with %j draws %s", async (model, parameters, expected) => {
    expect(await sizeOf(createEmulator(), { model, parameters })).toBe(expected);
  });

  it.each([
    ["qwen-image-2.0", {}, "2896*1440"],
    ["qwen-image-edit-max", {}, "1440*720"],
    [edit, {}, "1440*720"],
    [edit, { size: "512*2048" }, "512*2048"],
    ["qwen-image-edit", {}, "1440*720"],
    ["qwen-image-edit", { size: "512*512" }, "1440*720"],
  ])(
    "%s edits two images with %j as %s: the last one gives the ratio",
    async (model, parameters, expected) => {
      const images = [await dataUrl(), await dataUrl({ width: 400, height: 200 })];
      expect(await sizeOf(createEmulator(), { model, images, parameters })).toBe(expected);
    },
  );

  it("keeps the seed it is given: equal requests give equal pictures, n images differ", async () => {
    const emulator = createEmulator();
    const wish = { parameters: { seed: 42, n: 2, size: "512*512" } };
    const [first, second] = await Promise.all([askDashscope(emulator, wish), askDashscope(emulator, wish)]);
    const bytes = async (body: DashscopeBody, index: number) =>
      Buffer.from(await (await download(emulator, imagesOf(body)[index])).arrayBuffer()).toString("base64");
    expect(await bytes(first.body, 0)).toBe(await bytes(second.body, 0));
    expect(await bytes(first.body, 0)).not.toBe(await bytes(first.body, 1));
  });

  it("cuts a prompt at 800 characters without a word", async () => {
    const emulator = createEmulator();
    const draw = async (text: string) => {
      const { body } = await askDashscope(emulator, { text, parameters: { seed: 1, size: "512*512" } });
      return (await inspectLink(emulator, imagesOf(body)[0])).pixels;
    };
    const cut = await draw("狐".repeat(800));
    expect(cut.equals(await draw("狐".repeat(801)))).toBe(true);
    expect(cut.equals(await draw("狐".repeat(799)))).toBe(false);
  });

  it("takes every reference form: data URL, link of its own, foreign link, oss", async () => {
    const emulator = createEmulator();
    const own = (await askArk(emulator)).body.data[0]?.url ?? "";
    const images = [await dataUrl({ format: "webp" }), own, "oss://bucket/a.png"];
    expect((await askDashscope(emulator, { model: edit, images })).status).toBe(200);
    expect((await askDashscope(emulator, { model: edit, images: ["https://example.com/a"] })).status).toBe(
      200,
    );
  });

  it("ignores fields that it does not know", async () => {
    const { status } = await askDashscope(createEmulator(), { parameters: { cfg: 3, quality: "hd" } });
    expect(status).toBe(200);
  });

  it("counts the images that failed in task_metric", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ failImages: [{ index: 1 }] });
    const { body } = await askDashscope(emulator, { parameters: { n: 3 } });
    expect(imagesOf(body)).toHaveLength(2);
    expect(body.output.task_metric).toStrictEqual({ TOTAL: 3, SUCCEEDED: 2, FAILED: 1 });
    expect(body.usage?.image_count).toBe(2);
  });

  it("is an error when every image failed", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ failImages: [{ index: 0, code: "InternalError" }] });
    const { status, body } = await askDashscope(emulator);
    expect([status, body.code]).toEqual([500, "InternalError"]);
  });

  it("can answer in the other forms that were seen", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ severalChoices: true, outputImageCount: true, rewrittenPrompt: "A red fox" });
    const { body } = await askDashscope(emulator, { parameters: { n: 2 } });
    expect(
      body.output.choices.map(({ message }) => message.content.map((item) => Object.keys(item)[0])),
    ).toEqual([["image", "text"], ["image"]]);
    expect(body.usage).toStrictEqual({ width: 2048, height: 2048, output_image_count: 2 });
  });

  it("can answer 200 with an error and no output, and without usage", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ status: 200, code: "InternalError", times: 1 }, { omitUsage: true });
    const { status, body } = await askDashscope(emulator);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["request_id", "code", "message"]);
    expect((await askDashscope(emulator)).body.usage).toBeUndefined();
  });
});
