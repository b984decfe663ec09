import { describe, expect, it } from "vitest";
import { ARK_RESPONSE, createTestGateway } from "../../testing/test-gateway.js";

const MODEL = "seedream-4-0-250828";

/** What a client and the operator see of a response of Ark. */
async function respondWith(
  response: unknown,
): Promise<{ status: number; body: object; record: object | undefined; count: number }> {
  const { post, records } = createTestGateway(() => Response.json(response), {
    billing: {
      model_details: { "*": { pricing_mode: "per-request", model_price: "0.1" } },
    },
    models: { [MODEL]: { family: "seedream" } },
  });
  const { status, body } = await post({ model: MODEL, prompt: "x", n: 3 });
  return { status, body, record: records[0], count: records.length };
}

const image = (index: number): object => ({ url: `https://ark.test/${index}.png`, size: "2048x2048" });
const failed = { error: { code: "OutputImageSensitiveContentDetected", message: "Not this one." } };

describe("a response of Ark", () => {
  it("comes through with the service's model name", async () => {
    expect(await respondWith(ARK_RESPONSE)).toMatchObject({
      status: 200,
      body: { ...ARK_RESPONSE, model: MODEL },
      record: { status: 200, images: 1, charge: "0.1", usage: ARK_RESPONSE.usage },
      count: 1,
    });
  });

  it("keeps what else the provider says", async () => {
    const response = {
      ...ARK_RESPONSE,
      tools: [1],
      data: [{ ...image(0), b64_json: "AAAA", extra_field: { a: 1 } }],
    };
    const details = { text_tokens: 0, image_tokens: 0 };
    const usage = { ...ARK_RESPONSE.usage, input_tokens: 0, input_tokens_details: details };
    expect((await respondWith(response)).body).toEqual({ ...response, model: MODEL, usage });
  });

  it("moves the images that failed to extra.errors, with their index", async () => {
    const response = {
      ...ARK_RESPONSE,
      data: [failed, image(1), {}, null, "x", image(5)],
      usage: { generated_images: 2 },
    };
    expect(await respondWith(response)).toMatchObject({
      status: 200,
      body: {
        data: [image(1), image(5)],
        extra: {
          errors: [
            { index: 0, code: "OutputImageSensitiveContentDetected", message: "Not this one." },
            { index: 2, code: "upstream_no_image" },
            { index: 3, code: "upstream_no_image" },
            { index: 4, code: "upstream_no_image" },
          ],
        },
      },
      record: { images: 2, charge: "0.2" },
      count: 1,
    });
  });

  it.each<[string, object, string, string]>([
    [
      "all failed",
      { data: [failed, failed], usage: { generated_images: 0 } },
      "OutputImageSensitiveContentDetected",
      "0",
    ],
    ["all failed and nothing reported", { data: [failed] }, "OutputImageSensitiveContentDetected", "0"],
    [
      "all failed and something reported",
      { data: [failed], usage: { generated_images: 2 } },
      "OutputImageSensitiveContentDetected",
      "0.2",
    ],
    ["no image", { data: [] }, "upstream_no_image", "0"],
    ["no data", {}, "upstream_no_image", "0"],
    ["data of another type", { data: { url: "x" } }, "upstream_no_image", "0"],
    ["empty links", { data: [{ url: "" }, { url: 5 }, { b64_json: null }] }, "upstream_no_image", "0"],
    [
      "an error in its place",
      { error: { code: "InternalServiceError", message: "Oh." } },
      "InternalServiceError",
      "0",
    ],
  ])("with %s is a 502 and charged as reported", async (_what, response, code, charge) => {
    expect(await respondWith(response)).toMatchObject({
      status: 502,
      body: { error: { type: "upstream_error", code } },
      record: { status: 502, errorCode: code, images: 0, charge },
      count: 1,
    });
  });

  it.each<[string, unknown, string]>([
    ["no usage", undefined, "0.1"],
    ["usage null", null, "0.1"],
    ["usage a list", [3], "0.1"],
    ["a text", { generated_images: "3" }, "0.1"],
    ["a negative count", { generated_images: -3 }, "0.1"],
    ["a fraction", { generated_images: 2.5 }, "0.1"],
    ["1e21", { generated_images: 1e21 }, "0.1"],
    ["an explicit 0", { generated_images: 0 }, "0"],
    ["a good count beside junk", { generated_images: 3, output_tokens: "x", total_tokens: -1 }, "0.3"],
  ])("with %s for its usage is charged %s", async (_what, usage, charge) => {
    const { status, record } = await respondWith({ ...ARK_RESPONSE, usage });
    expect({ status, record }).toMatchObject({ status: 200, record: { charge, images: 1 } });
  });

  it.each([undefined, null, "now", -1, 1.5])("with created %j gets the gateway's time", async (created) => {
    const { body } = await respondWith({ ...ARK_RESPONSE, created });
    expect(body).toMatchObject({ created: expect.closeTo(Date.now() / 1000, -1) });
  });

  it("with __proto__ in it does no harm", async () => {
    const { post } = createTestGateway(
      () =>
        new Response(
          '{"__proto__":{"polluted":1},"data":[{"url":"https://x","__proto__":{"polluted":1}}],"usage":{"__proto__":{"generated_images":9}}}',
        ),
    );
    expect((await post({ model: MODEL, prompt: "x" })).status).toBe(200);
    expect({}).not.toHaveProperty("polluted");
  });
});
