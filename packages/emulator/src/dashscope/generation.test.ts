import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import { askArk, askDashscope, type DashscopeBody, download } from "../test-support/ask.js";
import { dataUrl, inspectLink } from "../test-support/images.js";

const edit = "qwen-image-edit-plus";

function imagesOf(body: DashscopeBody): string[] {
  return body.output.choices.flatMap(({ message }) => message.content.flatMap(({ image }) => image ?? []));
}

describe("a generation of DashScope", () => {
  it("responds with output, usage and request_id, and nothing else", async () => {
    const { status, headers, body } = await askDashscope(createEmulator());
    expect(status).toBe(200);
    const image = expect.stringMatching(/^http:\/\/emulator\.test\/dashscope-results\/.+\.png\?Expires=\d+/);
    expect(body).toStrictEqual({
      output: {
        choices: [{ finish_reason: "stop", message: { role: "assistant", content: [{ image }] } }],
        task_metric: { TOTAL: 1, SUCCEEDED: 1, FAILED: 0 },
      },
      usage: { input_image_count: 0, output_image_count: 1, output_width: 2048, output_height: 2048 },
      request_id: headers.get("x-request-id"),
    });
    expect(body.request_id).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(headers.get("req-cost-time")).toMatch(/^\d+$/);
  });

  it("draws PNGs of the reported size", async () => {
    const emulator = createEmulator();
    const { body } = await askDashscope(emulator, { model: "qwen-image-max" });
    const image = await inspectLink(emulator, imagesOf(body)[0]);
    expect(image).toMatchObject({ format: "png", width: 1664, height: 928 });
    const response = await download(emulator, imagesOf(body)[0]);
    expect(response.headers.get("content-type")).toBe("image/png");
  });

  it("puts several images into the content of one choice", async () => {
    const { body } = await askDashscope(createEmulator(), { parameters: { n: 6 } });
    expect(body.output.choices).toHaveLength(1);
    expect(new Set(imagesOf(body)).size).toBe(6);
    expect(body.usage?.output_image_count).toBe(6);
    expect(body.output.task_metric).toStrictEqual({ TOTAL: 6, SUCCEEDED: 6, FAILED: 0 });
  });

  it("uses the seed of the request: equal requests make equal images, and the images of one request differ", async () => {
    const emulator = createEmulator();
    const request = { parameters: { seed: 42, n: 2, size: "512*512" } };
    const [first, second] = await Promise.all([
      askDashscope(emulator, request),
      askDashscope(emulator, request),
    ]);
    const bytes = async (body: DashscopeBody, index: number) =>
      Buffer.from(await (await download(emulator, imagesOf(body)[index])).arrayBuffer()).toString("base64");
    expect(await bytes(first.body, 0)).toBe(await bytes(second.body, 0));
    expect(await bytes(first.body, 0)).not.toBe(await bytes(first.body, 1));
  });

  it("accepts references as data URLs, as its own links, as links of other hosts, and as oss links", async () => {
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
    expect(body.usage?.output_image_count).toBe(2);
  });

  it("is an error when every image failed", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ failImages: [{ index: 0, code: "InternalError" }] });
    const { status, body } = await askDashscope(emulator);
    expect([status, body.code]).toEqual([500, "InternalError"]);
  });

  it("can respond in the other formats that were observed", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ severalChoices: true, outputImageCount: true, rewrittenPrompt: "A red fox" });
    const { body } = await askDashscope(emulator, {
      model: edit,
      images: ["https://example.com/a"],
      parameters: { n: 2 },
    });
    expect(
      body.output.choices.map(({ message }) => message.content.map((item) => Object.keys(item)[0])),
    ).toEqual([["image", "text"], ["image"]]);
    expect(body.usage).toStrictEqual({ width: 1024, height: 1024, output_image_count: 2 });
  });

  it("can respond with 200, an error and no output, and without usage", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ status: 200, code: "InternalError", times: 1 }, { omitUsage: true });
    const { status, body } = await askDashscope(emulator);
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual(["request_id", "code", "message"]);
    expect((await askDashscope(emulator)).body.usage).toBeUndefined();
  });
});
