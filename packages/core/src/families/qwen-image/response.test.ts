import { describe, expect, it } from "vitest";
import { createTestGateway, DASHSCOPE_RESPONSE } from "../../testing/test-gateway.js";

async function respondWith(
  response: unknown,
): Promise<{ status: number; body: object; record: object | undefined; count: number }> {
  const { post, records } = createTestGateway(() => Response.json(response), {
    billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } } },
    models: { "image-2.0": { family: "qwen-image" } },
  });
  const { status, body } = await post({ model: "image-2.0", prompt: "x", n: 3 });
  return { status, body, record: records[0], count: records.length };
}

const choice = (...content: unknown[]): object => ({ message: { role: "assistant", content } });
const output = (...choices: unknown[]): object => ({
  output: { choices },
  usage: { image_count: 2 },
  request_id: "b1a2",
});
const item = (name: string, revised_prompt = ""): object => ({ url: `https://x/${name}`, revised_prompt });

describe("a response of DashScope", () => {
  it("becomes the shape of the interface", async () => {
    expect(await respondWith(DASHSCOPE_RESPONSE)).toMatchObject({
      status: 200,
      record: {
        status: 200,
        images: 1,
        charge: "0.1",
        usage: { generated_images: 1 },
        upstreamRequestId: "b1a2",
      },
      count: 1,
    });
    expect((await respondWith(DASHSCOPE_RESPONSE)).body).toEqual({
      created: expect.closeTo(Date.now() / 1000, -1),
      data: [{ url: "https://dashscope.test/1.png", revised_prompt: "" }],
      extra: { request_id: "b1a2" },
    });
  });

  it.each<[string, object, object[]]>([
    [
      "several images of one choice",
      output(choice({ image: "https://x/1" }, { image: "https://x/2" })),
      [item("1"), item("2")],
    ],
    [
      "one image of several choices",
      output(choice({ image: "https://x/1" }), choice({ image: "https://x/2" })),
      [item("1"), item("2")],
    ],
    ["a code of success", { ...output(choice({ image: "https://x/1" })), code: "Success" }, [item("1")]],
    ["a code of SUCCESS", { ...output(choice({ image: "https://x/1" })), code: "SUCCESS" }, [item("1")]],
    [
      "an empty code and message",
      { ...output(choice({ image: "https://x/1" })), code: "", message: "" },
      [item("1")],
    ],
    [
      "a text as the rewritten prompt",
      output(choice({ image: "https://x/1" }, { text: "a red fox" }, { image: "https://x/2" })),
      [item("1", "a red fox"), item("2", "a red fox")],
    ],
    [
      "each choice's own text",
      output(choice({ text: "a" }, { image: "https://x/1" }), choice({ image: "https://x/2" })),
      [item("1", "a"), item("2")],
    ],
    [
      "images among junk",
      output(
        null,
        5,
        {},
        { message: [] },
        choice(null, "x", { image: 5 }, { image: "" }, { image: "https://x/1" }),
        { message: { content: "x" } },
      ),
      [item("1")],
    ],
  ])("gives %s", async (_what, response, data) => {
    expect(await respondWith(response)).toMatchObject({
      status: 200,
      body: { data },
      record: { charge: "0.2" },
    });
    expect((await respondWith(response)).body).toMatchObject({ data: { length: data.length } });
  });

  it.each<[string, unknown, string]>([
    ["image_count", { image_count: 3 }, "0.3"],
    ["output_image_count", { output_image_count: 3 }, "0.3"],
    ["image_count before output_image_count", { image_count: 2, output_image_count: 3 }, "0.2"],
    ["output_image_count where image_count is junk", { image_count: "2", output_image_count: 3 }, "0.3"],
    ["an explicit 0", { image_count: 0 }, "0"],
    ["neither", { width: 1 }, "0.1"],
    ["no usage", undefined, "0.1"],
    ["usage null", null, "0.1"],
    ["usage a list", [2], "0.1"],
    ["a negative count", { image_count: -1 }, "0.1"],
    ["1e21", { image_count: 1e21 }, "0.1"],
  ])("with %s is charged", async (_what, usage, charge) => {
    expect((await respondWith({ ...DASHSCOPE_RESPONSE, usage })).record).toMatchObject({ charge });
  });

  it.each<[string, object, string, string]>([
    [
      "a code",
      { code: "DataInspectionFailed", message: "No.", request_id: "b1a2" },
      "DataInspectionFailed",
      "No.",
    ],
    [
      "a code of success",
      { code: "Success" },
      "upstream_no_image",
      "The provider responded without an image.",
    ],
    ["a code without words", { code: "InternalError" }, "InternalError", "InternalError"],
    ["no output", { request_id: "b1a2" }, "upstream_no_image", "The provider responded without an image."],
    [
      "no choices",
      { output: { choices: [] } },
      "upstream_no_image",
      "The provider responded without an image.",
    ],
    [
      "a text alone",
      output(choice({ text: "I cannot." })),
      "upstream_no_image",
      "The provider responded without an image.",
    ],
    [
      "output of another type",
      { output: "x" },
      "upstream_no_image",
      "The provider responded without an image.",
    ],
  ])("with %s and no image is a 502", async (_what, response, code, message) => {
    expect(await respondWith(response)).toMatchObject({
      status: 502,
      body: { error: { type: "upstream_error", code, message } },
      record: { status: 502, errorCode: code, images: 0 },
      count: 1,
    });
  });
});
