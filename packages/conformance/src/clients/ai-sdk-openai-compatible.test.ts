import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createEmulator } from "@calotype/emulator";
import { APICallError, generateImage } from "ai";
import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { failureOf } from "./support/failure-of.js";
import { decode, drawPng, toDataUrl } from "./support/images.js";
import { recordForms } from "./support/record-forms.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { BASE64_CALLER_KEY, CALLER_KEY, QWEN_IMAGE_2, SEEDREAM, serve } from "./support/serve.js";

// Full-size images, because the tests check their sizes.
const providers = useProviders({ images: "full" });

/** A model of `@ai-sdk/openai-compatible` that calls the gateway. */
async function connect({ model = SEEDREAM, apiKey = BASE64_CALLER_KEY } = {}) {
  const { url, records } = await serve(providers());
  const { fetch, forms } = recordForms();
  const provider = createOpenAICompatible({ name: "calotype", baseURL: `${url}/v1`, apiKey, fetch });
  return { model: provider.imageModel(model), records, forms };
}

describe("generateImage of the AI SDK with @ai-sdk/openai-compatible", () => {
  it("returns an image of the requested size if the caller's default is base64", async () => {
    const { model, records } = await connect();

    const { image, usage } = await generateImage({ model, prompt: "a red fox", size: "1280x720" });

    expect(await decode(image.uint8Array)).toEqual({ width: 1280, height: 720, format: "jpeg" });
    expect(sentUpstream(providers())).toMatchObject([{ response_format: "b64_json" }]);
    expect(usage).toMatchObject({ outputTokens: 3600, totalTokens: 3600 });
    expect(records).toMatchObject([{ caller: "base64-tester", images: 1, charge: "0.03" }]);
  });

  it("returns an image if the provider options request base64", async () => {
    const { model, records } = await connect({ apiKey: CALLER_KEY });

    const { image } = await generateImage({
      model,
      prompt: "a red fox",
      size: "1280x720",
      providerOptions: { calotype: { response_format: "b64_json", watermark: false, seed: 0 } },
    });

    expect(await decode(image.uint8Array)).toMatchObject({ width: 1280, height: 720 });
    expect(sentUpstream(providers())).toMatchObject([
      { response_format: "b64_json", watermark: false, seed: 0 },
    ]);
    expect(records).toMatchObject([{ caller: "tester", operation: "generate", charge: "0.03" }]);
  });

  it("returns three images of family B with one call", async () => {
    const { model, records } = await connect({ model: QWEN_IMAGE_2 });

    const { images } = await generateImage({ model, prompt: "a red fox", n: 3, size: "512x768" });

    const measures = await Promise.all(images.map(({ uint8Array }) => decode(uint8Array)));
    expect(measures).toEqual(images.map(() => ({ width: 512, height: 768, format: "png" })));
    expect(sentUpstream(providers())).toMatchObject([{ parameters: { n: 3, size: "512*768" } }]);
    expect(records).toMatchObject([{ images: 3, charge: "0.225" }]);
  });

  it("edits the input images in their order", async () => {
    const { model, records, forms } = await connect();
    const pngs = await Promise.all([1, 2].map(drawPng));

    const { images } = await generateImage({
      model,
      prompt: { text: "2 images: the first as the subject, the second as the style", images: pngs },
      n: 2,
      size: "1024x1024",
      providerOptions: { calotype: { watermark: false } },
    });

    expect(images).toHaveLength(2);
    expect(await decode(images[1]?.uint8Array ?? new Uint8Array())).toMatchObject({ width: 1024 });
    expect(forms[0]?.map(({ name }) => name)).toEqual([
      "model",
      "prompt",
      "image[]",
      "image[]",
      "n",
      "size",
      "watermark",
    ]);
    expect(sentUpstream(providers())).toMatchObject([
      {
        image: pngs.map(toDataUrl),
        sequential_image_generation_options: { max_images: 2 },
        watermark: false,
      },
    ]);
    expect(records).toMatchObject([{ operation: "edit", images: 2, charge: "0.06" }]);
  });
});

describe("the links of a response with @ai-sdk/openai-compatible", () => {
  it("are opened by the client without the caller's key if they are public", async () => {
    const emulator = createEmulator({ origin: "https://results.example.com", images: "plain" });
    const { url, records } = await serve(providers(), {
      fetch: (input, init) => emulator.fetch(input, init),
    });
    const opened: (string | null)[] = [];
    const provider = createOpenAICompatible({
      name: "calotype",
      baseURL: `${url}/v1`,
      apiKey: CALLER_KEY,
      fetch: (input, init) => {
        if (new Request(input).url.startsWith(url)) return fetch(input, init);
        opened.push(new Headers(init?.headers).get("authorization"));
        return emulator.fetch(input, init);
      },
    });

    const { image } = await generateImage({
      model: provider.imageModel(SEEDREAM),
      prompt: "a fox",
      size: "1280x720",
    });

    expect(await decode(image.uint8Array)).toMatchObject({ width: 1280, height: 720 });
    expect(opened).toEqual([null]);
    expect(records).toMatchObject([{ operation: "generate", images: 1, charge: "0.03" }]);
  });

  it("are refused by the client if they lead to this machine", async () => {
    const { model, records } = await connect({ apiKey: CALLER_KEY });

    const error = await failureOf(generateImage({ model, prompt: "a red fox" }));

    expect(error).toMatchObject({ message: expect.stringContaining("127.0.0.1") });
    expect(records).toMatchObject([{ images: 1, charge: "0.03" }]);
  });
});

describe("an error of the AI SDK with @ai-sdk/openai-compatible", () => {
  it.each([
    {
      failure: "a wrong key",
      options: { apiKey: "somebody-elses" },
      call: {},
      expected: { statusCode: 401, message: "Wrong API key." },
    },
    {
      failure: "a size that the model has not",
      options: {},
      call: { size: "512x512" as const },
      expected: { statusCode: 400, message: expect.stringContaining("1K, or 2K, or 4K") },
    },
    {
      failure: "more images than the model makes",
      options: {},
      call: { n: 20, maxImagesPerCall: 20 },
      expected: { statusCode: 400, message: expect.stringContaining("15") },
    },
  ])("reports $failure, and the call is not repeated", async ({ options, call, expected }) => {
    const { model, records } = await connect(options);

    const error = await failureOf(generateImage({ model, prompt: "a red fox", ...call }));

    expect(APICallError.isInstance(error) && error.isRetryable).toBe(false);
    expect(error).toMatchObject(expected);
    expect(records).toEqual([]);
  });
});
