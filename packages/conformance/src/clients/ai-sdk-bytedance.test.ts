import { createByteDance } from "@ai-sdk/bytedance";
import { APICallError, generateImage } from "ai";
import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { decode, drawPng, toDataUrl } from "./support/images.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM, serve } from "./support/serve.js";

// Full-size images, because the tests check their sizes.
const providers = useProviders({ images: "full" });

/** A model of `@ai-sdk/bytedance` that calls the gateway instead of the provider. */
async function connect({ model = SEEDREAM, apiKey = CALLER_KEY } = {}) {
  const { url, records } = await serve(providers());
  const bytedance = createByteDance({ baseURL: `${url}/api/v3`, apiKey });
  return { model: bytedance.image(model), records };
}

describe("generateImage of the AI SDK with @ai-sdk/bytedance", () => {
  it("returns an image of the requested size for the service model name", async () => {
    const { model, records } = await connect();

    const { image, warnings } = await generateImage({ model, prompt: "a red fox", size: "1280x720" });

    expect(await decode(image.uint8Array)).toEqual({ width: 1280, height: 720, format: "jpeg" });
    expect(warnings).toEqual([]);
    expect(sentUpstream(providers())).toEqual([
      {
        model: "doubao-seedream-4-0-250828",
        prompt: "a red fox",
        size: "1280x720",
        response_format: "b64_json",
      },
    ]);
    expect(records).toMatchObject([{ operation: "native", model: SEEDREAM, images: 1, charge: "0.03" }]);
  });

  it("returns an image for the provider's model name and charges it as the service model", async () => {
    const { model, records } = await connect({ model: "doubao-seedream-4-0-250828" });

    const { images } = await generateImage({ model, prompt: "a red fox", size: "1280x720" });

    expect(images).toHaveLength(1);
    expect(records).toMatchObject([{ model: SEEDREAM, charge: "0.03" }]);
  });

  it("returns a batch with one call through the provider options", async () => {
    const { model, records } = await connect();

    const { images } = await generateImage({
      model,
      prompt: "3 images of a paper kite",
      providerOptions: {
        bytedance: {
          size: "1K",
          watermark: false,
          sequentialImageGeneration: "auto",
          maxImages: 3,
          optimizePromptMode: "fast",
          seed: 7,
          guidance_scale: 2.5,
        },
      },
    });

    expect(images).toHaveLength(3);
    expect(sentUpstream(providers())).toMatchObject([
      {
        size: "1K",
        watermark: false,
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 3 },
        optimize_prompt_options: { mode: "fast" },
        seed: 7,
        guidance_scale: 2.5,
      },
    ]);
    expect(records).toMatchObject([{ operation: "native", images: 3, charge: "0.09" }]);
  });

  it("requests n images with n calls, each of which is charged", async () => {
    const { model, records } = await connect();

    const { images } = await generateImage({ model, prompt: "a paper kite", n: 2, size: "1280x720" });

    expect(images).toHaveLength(2);
    expect(sentUpstream(providers())).toHaveLength(2);
    expect(records.map(({ charge }) => charge)).toEqual(["0.03", "0.03"]);
  });

  it.each([1, 2])("makes an image from %i input images", async (count) => {
    const { model, records } = await connect();
    const pngs = await Promise.all(Array.from({ length: count }, (_, index) => drawPng(index)));

    const { image } = await generateImage({
      model,
      prompt: { text: "at night", images: pngs },
      size: "1280x720",
    });

    expect(await decode(image.uint8Array)).toMatchObject({ width: 1280, height: 720 });
    const urls = pngs.map(toDataUrl);
    expect(sentUpstream(providers())).toMatchObject([{ image: count === 1 ? urls[0] : urls }]);
    expect(records).toMatchObject([{ operation: "native", images: 1, charge: "0.03" }]);
  });

  // The client's schema requires base64 in every element, and /api/v3 returns the provider's body.
  it("fails if one image of a batch failed, although the others are charged", async () => {
    const { model, records } = await connect();
    providers().emulator.faults.add({ failImages: [{ index: 1 }] });

    const error = await failureOf(
      generateImage({
        model,
        prompt: "3 images of a paper kite",
        providerOptions: { bytedance: { size: "1K", sequentialImageGeneration: "auto", maxImages: 3 } },
      }),
    );

    expect(APICallError.isInstance(error) && error.message).toBe("Invalid JSON response");
    expect(records).toMatchObject([{ status: 200, images: 2, charge: "0.06" }]);
  });
});

describe("an error of the AI SDK with @ai-sdk/bytedance", () => {
  it.each([
    {
      failure: "a wrong key",
      options: { apiKey: "somebody-elses" },
      size: undefined,
      expected: { statusCode: 401, data: { error: { code: "invalid_api_key", message: "Wrong API key." } } },
    },
    {
      failure: "what the provider refuses, in its words",
      options: {},
      size: "512x512" as const,
      expected: {
        statusCode: 400,
        message: expect.stringContaining("image size must be at least 921600 pixels"),
        data: { error: { code: "InvalidParameter" } },
      },
    },
    {
      failure: "a model of family B, and names the endpoint for it",
      options: { model: QWEN_IMAGE },
      size: undefined,
      expected: { statusCode: 400, message: expect.stringContaining("/v1/images/generations") },
    },
  ])("reports $failure, and the call is not repeated", async ({ options, size, expected }) => {
    const { model, records } = await connect(options);

    const error = await failureOf(generateImage({ model, prompt: "a red fox", ...(size && { size }) }));

    expect(APICallError.isInstance(error) && error.isRetryable).toBe(false);
    expect(error).toMatchObject(expected);
    expect(records.map(({ charge }) => charge)).not.toContain("0.03");
  });
});
