import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateImage, RetryError } from "ai";
import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { decode, drawPng, toDataUrl } from "./support/images.js";
import { recordForms } from "./support/record-forms.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { BASE64_CALLER_KEY, CALLER_KEY, QWEN_IMAGE, SEEDREAM, serve } from "./support/serve.js";

const providers = useProviders();

/** A model of `@ai-sdk/openai` that calls the gateway. */
async function connect({ model = SEEDREAM, apiKey = CALLER_KEY } = {}) {
  const { url, records } = await serve(providers());
  const { fetch, forms } = recordForms();
  const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey, fetch });
  return { model: openai.image(model), records, forms };
}

describe("generateImage of the AI SDK with @ai-sdk/openai", () => {
  it("returns an image without further settings, because the client requests base64", async () => {
    const { model, records } = await connect();

    const { image, usage, responses } = await generateImage({
      model,
      prompt: "a red fox",
      size: "1024x1024",
    });

    expect(image.mediaType).toBe("image/jpeg");
    expect(await decode(image.uint8Array)).toMatchObject({ format: "jpeg" });
    expect(sentUpstream(providers())).toMatchObject([{ response_format: "b64_json", size: "1024x1024" }]);
    expect(usage).toMatchObject({ outputTokens: 4096, totalTokens: 4096 });
    expect(responses[0]?.headers?.["x-request-id"]).toBe(records[0]?.id);
    expect(records).toMatchObject([{ operation: "generate", images: 1, charge: "0.03" }]);
  });

  it("returns an image of family B for OpenAI's fields", async () => {
    const { model, records } = await connect({ model: QWEN_IMAGE });

    const { image } = await generateImage({ model, prompt: "a red fox", size: "1328x1328" });

    expect(await decode(image.uint8Array)).toMatchObject({ format: "png" });
    expect(sentUpstream(providers())).toMatchObject([{ parameters: { size: "1328*1328" } }]);
    expect(records).toMatchObject([{ operation: "generate", images: 1, charge: "0.075" }]);
  });

  it("requests three images with three calls, each of which is charged", async () => {
    const { model, records } = await connect();

    const { images } = await generateImage({ model, prompt: "kites", n: 3 });

    expect(images).toHaveLength(3);
    expect(sentUpstream(providers())).toHaveLength(3);
    expect(records.map(({ images: made, charge }) => [made, charge])).toEqual(images.map(() => [1, "0.03"]));
  });

  it("requests them with one call if the settings say that the model can make several", async () => {
    const { model, records } = await connect();

    const { images } = await generateImage({ model, prompt: "3 images of kites", n: 3, maxImagesPerCall: 4 });

    expect(images).toHaveLength(3);
    expect(sentUpstream(providers())).toMatchObject([
      { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 3 } },
    ]);
    expect(records).toMatchObject([{ operation: "generate", images: 3, charge: "0.09" }]);
  });

  it("returns the other images if one image of a batch failed", async () => {
    const { model, records } = await connect();
    providers().emulator.faults.add({ failImages: [{ index: 1 }] });

    const { images } = await generateImage({ model, prompt: "3 images of kites", n: 3, maxImagesPerCall: 4 });

    expect(images).toHaveLength(2);
    expect(records).toMatchObject([{ images: 2, charge: "0.06" }]);
  });

  it("reports options that have no effect as ignored", async () => {
    const { model } = await connect();

    const { responses } = await generateImage({
      model,
      prompt: "a red fox",
      providerOptions: { openai: { quality: "high", style: "vivid", background: "opaque", user: "user-1" } },
    });

    expect(responses[0]?.headers?.["x-calotype-ignored"]?.split(", ").toSorted()).toEqual([
      "background",
      "quality",
      "style",
      "user",
    ]);
  });
});

describe("an edit of the AI SDK with @ai-sdk/openai", () => {
  it.each([
    { count: 1, names: ["image"] },
    { count: 2, names: ["image[]", "image[]"] },
  ])("of $count images works for a caller whose default is base64", async ({ count, names }) => {
    const { model, records, forms } = await connect({ apiKey: BASE64_CALLER_KEY });
    const pngs = await Promise.all(names.map((_name, index) => drawPng(index)));

    const { image } = await generateImage({ model, prompt: { text: "at night", images: pngs } });

    expect(await decode(image.uint8Array)).toMatchObject({ format: "jpeg" });
    expect(forms[0]?.filter(({ filename }) => filename)).toEqual(
      names.map((name) => ({ name, filename: "blob" })),
    );
    expect(sentUpstream(providers())).toMatchObject([
      { image: pngs.map(toDataUrl), response_format: "b64_json" },
    ]);
    expect(pngs).toHaveLength(count);
    expect(records).toMatchObject([
      { operation: "edit", caller: "base64-tester", images: 1, charge: "0.03" },
    ]);
  });

  it("fails because of the links in the response if the caller's default is url, although the image is made", async () => {
    const { model, records } = await connect();

    const error = await failureOf(
      generateImage({ model, prompt: { text: "at night", images: [await drawPng()] } }),
    );

    expect(APICallError.isInstance(error) && error.message).toBe("Invalid JSON response");
    expect(records).toMatchObject([{ operation: "edit", status: 200, images: 1, charge: "0.03" }]);
  });

  it("is refused if it has a mask, and nothing is charged", async () => {
    const { model, records } = await connect({ apiKey: BASE64_CALLER_KEY });
    const png = await drawPng();

    const error = await failureOf(
      generateImage({ model, prompt: { text: "a hat", images: [png], mask: png } }),
    );

    expect(error).toMatchObject({ statusCode: 400, data: { error: { param: "mask" } } });
    expect(records).toEqual([]);
  });
});

describe("an error of the AI SDK with @ai-sdk/openai", () => {
  it.each([
    {
      failure: "a wrong key",
      options: { apiKey: "somebody-elses" },
      expected: { statusCode: 401, data: { error: { code: "invalid_api_key" } } },
    },
    {
      failure: "an unknown model",
      options: { model: "dall-e-3" },
      expected: { statusCode: 404, data: { error: { code: "model_not_found" } } },
    },
  ])("reports $failure, and the call is not repeated", async ({ options, expected }) => {
    const { model } = await connect(options);

    const error = await failureOf(generateImage({ model, prompt: "a red fox" }));

    expect(APICallError.isInstance(error) && error.isRetryable).toBe(false);
    expect(error).toMatchObject(expected);
  });

  it("names the supported sizes if the size is not supported", async () => {
    const { model } = await connect();

    const error = await failureOf(generateImage({ model, prompt: "a red fox", size: "512x512" }));

    expect(error).toMatchObject({
      statusCode: 400,
      message: expect.stringContaining("1K, or 2K, or 4K"),
      data: { error: { param: "size" } },
    });
  });

  it("does not occur if a repeat after Retry-After succeeds", async () => {
    const { model, records } = await connect();
    providers().emulator.faults.add({ code: "RequestBurstTooFast", retryAfterSeconds: 1, times: 1 });
    const startedAt = performance.now();

    const { images } = await generateImage({ model, prompt: "a red fox" });

    expect(images).toHaveLength(1);
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    expect(records).toMatchObject([
      { status: 429, charge: "0" },
      { status: 200, charge: "0.03" },
    ]);
  });

  // The AI SDK does not know x-should-retry. It repeats every 5xx unless maxRetries is 0.
  it.each([
    { maxRetries: 1, calls: 2 },
    { maxRetries: 0, calls: 1 },
  ])("of a provider that failed occurs after $calls calls with maxRetries $maxRetries", async (sample) => {
    const { maxRetries, calls } = sample;
    const { model, records } = await connect();
    providers().emulator.faults.add({ code: "InternalServiceError" });

    const error = await failureOf(generateImage({ model, prompt: "a red fox", maxRetries }));

    const last = RetryError.isInstance(error) ? error.lastError : error;
    expect(last).toMatchObject({ statusCode: 502, responseHeaders: { "x-should-retry": "false" } });
    expect(sentUpstream(providers())).toHaveLength(calls);
    expect(records.map(({ charge }) => charge)).toEqual(Array.from({ length: calls }, () => "0"));
  });
});
