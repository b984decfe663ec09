import { describe, expect, it } from "vitest";
import { ARK_ANSWER, createTestGateway, refusal } from "../../testing/test-gateway.js";

const MODEL = "seedream-4-0-250828";

describe("a body of the native endpoint", () => {
  it.each<[string, object]>([
    ["a prompt alone", {}],
    ["an image", { image: "https://example.com/a.png" }],
    ["images that are the provider's to judge", { image: ["file:///x", 5, null] }],
    ["a size that is the provider's to judge", { size: "1x1" }],
    [
      "null for every field",
      {
        image: null,
        size: null,
        stream: null,
        sequential_image_generation: null,
        sequential_image_generation_options: null,
        response_format: null,
      },
    ],
    [
      "null for max_images",
      { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: null } },
    ],
    ["fields of OpenAI", { quality: "hd", mask: "x", user: "u" }],
    ["unknown fields", { future: { deep: [0, false, null] }, constructor: 1 }],
    [
      "a batch",
      { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 15 } },
    ],
  ])("with %s is forwarded as sent", async (_what, fields) => {
    const { postNative, calls } = createTestGateway();
    const { status, body } = await postNative({ model: MODEL, prompt: "x", ...fields });
    expect({ status, body }).toEqual({ status: 200, body: ARK_ANSWER });
    expect(calls[0]?.body).toEqual({ model: MODEL, prompt: "x", ...fields });
  });

  it("loses its n, which is named", async () => {
    const { postNative, calls } = createTestGateway();
    const { headers } = await postNative({ model: MODEL, prompt: "x", n: "junk" });
    expect(headers.get("x-calotype-ignored")).toBe("n");
    expect(calls[0]?.body).toEqual({ model: MODEL, prompt: "x" });
  });

  it.each<[object, string]>([
    [{ prompt: undefined }, "prompt"],
    [{ prompt: "" }, "prompt"],
    [{ prompt: null }, "prompt"],
    [{ stream: "true" }, "stream"],
    [{ sequential_image_generation: "on" }, "sequential_image_generation"],
    [{ sequential_image_generation_options: [] }, "sequential_image_generation_options"],
    [
      { sequential_image_generation_options: { max_images: "2" } },
      "sequential_image_generation_options.max_images",
    ],
    [
      { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 16 } },
      "sequential_image_generation_options.max_images",
    ],
  ])("with %j is refused", async (fields, param) => {
    const { postNative, calls } = createTestGateway();
    expect(await postNative({ model: MODEL, prompt: "x", ...fields })).toMatchObject({
      status: 400,
      body: refusal(param),
    });
    expect(calls).toEqual([]);
  });
});
