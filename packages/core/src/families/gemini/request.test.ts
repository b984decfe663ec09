import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { createUploadedImage } from "../../images/reference-image.js";
import { PNG } from "../../testing/form-bytes.js";
import type { ImageRequest } from "../../types.js";
import type { NormalizeContext } from "../family.js";
import { gemini } from "./gemini.js";

const PRO = "gemini-3-pro-image";
const BASE64 = Buffer.from(PNG).toString("base64");
const DATA_URL = `data:image/png;base64,${BASE64}`;
const LINK = "https://example.com/a.png";

function normalize(
  fields: object,
  { model = PRO, ...context }: Partial<NormalizeContext> = {},
): ImageRequest {
  return gemini.normalize(
    { prompt: "a fox", ...fields },
    {
      operation: "generate",
      model,
      capabilities: gemini.findCapabilities?.(model),
      defaultResponseFormat: undefined,
      maxUpstreamCalls: 10,
      ...context,
    },
  );
}

function chunks(): readonly Uint8Array<ArrayBuffer>[] {
  return [PNG];
}

function bodyOf(request: ImageRequest, model = PRO): unknown {
  const { body } = gemini.toUpstream(request, model);
  return typeof body === "object" && "json" in body ? JSON.parse(JSON.stringify(body.json)) : undefined;
}

describe("a request to Gemini", () => {
  it("has the model in the path, and the prompt as a part", () => {
    const call = gemini.toUpstream(normalize({}), "my model/1");
    expect(call.path).toBe("/models/my%20model%2F1:generateContent");
    expect(bodyOf(normalize({}))).toEqual({
      contents: [{ role: "user", parts: [{ text: "a fox" }] }],
      generationConfig: { responseModalities: ["TEXT", "IMAGE"] },
    });
  });

  it("has the settings of Gemini under their own names", () => {
    const settings = {
      safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_ONLY_HIGH" }],
      systemInstruction: { parts: [{ text: "in oil" }] },
    };
    const generationConfig = { temperature: 0.5, thinkingConfig: { includeThoughts: true } };
    expect(bodyOf(normalize({ ...settings, generationConfig, seed: 7, size: "2K" }))).toMatchObject({
      ...settings,
      generationConfig: { ...generationConfig, seed: 7, imageConfig: { imageSize: "2K" } },
    });
  });

  it("has images as base64 without a prefix, whatever they came as", () => {
    const upload = createUploadedImage("image/webp", { byteLength: PNG.length, chunks, chunksSync: chunks });
    expect(bodyOf(normalize({ image: [DATA_URL, upload] }))).toMatchObject({
      contents: [
        {
          parts: [
            { text: "a fox" },
            { inlineData: { mimeType: "image/png", data: BASE64 } },
            { inlineData: { mimeType: "image/webp", data: BASE64 } },
          ],
        },
      ],
    });
  });

  it.each([
    [[], false],
    [[DATA_URL], false],
    [[DATA_URL, LINK], true],
  ])("with the images %j needs their bytes: %s", (image, expected) => {
    expect(gemini.needsImageBytes?.(normalize(image.length === 0 ? {} : { image }))).toBe(expected);
  });

  it("refuses an image of another type that a link led to", () => {
    const image = `data:image/gif;base64,${BASE64}`;
    const request = { ...normalize({ image: LINK }), images: [image] };
    expect(() => gemini.toUpstream(request, PRO)).toThrow(expect.objectContaining({ param: "image[0]" }));
  });

  it("has the key in its own header", () => {
    expect(gemini.authorize?.("k")).toEqual({ "x-goog-api-key": "k" });
  });

  it("names the fields without effect", () => {
    const fields = {
      quality: "high",
      tools: [{ google_search: {} }],
      size: "1K",
      resolution: "2K",
      style: "vivid",
    };
    expect(normalize(fields).ignored).toEqual(["quality", "style", "tools", "resolution"]);
  });
});

describe("n images", () => {
  it.each([
    [undefined, undefined, 1],
    [0, undefined, 1],
    [1, undefined, 1],
    [4, 4, 4],
    [10, 10, 10],
  ])("n: %s, with several calls: %s", (n, upstreamCalls, maxImages) => {
    const request = normalize(n === undefined ? {} : { n });
    expect(request).toMatchObject({ maxImages });
    expect(request.upstreamCalls).toBe(upstreamCalls);
    expect(bodyOf(request)).not.toHaveProperty("generationConfig.candidateCount");
  });

  it("are refused above the limit, and without several calls", () => {
    expect(() => normalize({ n: 11 })).toThrow(expect.objectContaining({ param: "n" }));
    for (const model of [PRO, "gemini-9-image"]) {
      expect(() => normalize({ n: 2 }, { model, maxUpstreamCalls: 1 })).toThrow(
        expect.objectContaining({ param: "n" }),
      );
    }
  });

  it("have seeds that differ", () => {
    const { upstreamFields } = normalize({ n: 2, seed: 2_147_483_647 });
    expect(gemini.raiseSeed?.(upstreamFields, 1)).toMatchObject({ generationConfig: { seed: 0 } });
    expect(gemini.raiseSeed?.({}, 1)).toEqual({});
  });
});

describe("a field that is wrong", () => {
  it.each<[object, string]>([
    [{ prompt: undefined }, "prompt"],
    [{ prompt: "" }, "prompt"],
    [{ n: 1.5 }, "n"],
    [{ seed: "7" }, "seed"],
    [{ size: 1024 }, "size"],
    [{ image: [] }, "image"],
    [{ image: "ftp://example.com/a.png" }, "image"],
    [{ image: ["data:image/gif;base64,AAAA"] }, "image[0]"],
    [{ image: Array.from({ length: 15 }, () => LINK) }, "image"],
    [{ response_format: "png" }, "response_format"],
    [{ stream: true }, "stream"],
    [{ generationConfig: [] }, "generationConfig"],
    [{ generationConfig: { candidateCount: 2 } }, "generationConfig.candidateCount"],
    [{ generationConfig: { imageConfig: { imageSize: "4K" } } }, "generationConfig.imageConfig"],
    [{ generationConfig: { responseModalities: ["TEXT"] } }, "generationConfig.responseModalities"],
    [{ safetySettings: {} }, "safetySettings"],
    [{ systemInstruction: "in oil" }, "systemInstruction"],
    [{ mask: DATA_URL }, "mask"],
  ])("%j is refused", (fields, param) => {
    expect(() => normalize(fields)).toThrow(expect.objectContaining({ param }));
  });
});

describe("the bounds of tokens", () => {
  it.each([
    [PRO, {}, 1_120],
    [PRO, { size: "4K" }, 2_000],
    ["gemini-nano-banana-2.1", { size: "1024x1024" }, 1_120],
    ["gemini-nano-banana-2.1", { size: "4096x4096" }, 2_520],
    ["gemini-2.5-flash-image", {}, 1_290],
    ["gemini-9-image", {}, 2_520],
  ])("of %s with %j are those of its table", (model, fields, ofImage) => {
    const { maxTokensPerImage, maxTextTokensPerImage } = normalize(fields, { model });
    expect({ maxTokensPerImage, maxTextTokensPerImage }).toEqual({
      maxTokensPerImage: ofImage + 8_192,
      maxTextTokensPerImage: 8_192,
    });
  });

  it("of the input count each byte of the prompt and each reference image", () => {
    expect(normalize({ prompt: "狐" }).maxInputTokens).toBe(3 + 64);
    expect(normalize({ prompt: "狐", image: [LINK, LINK] }).maxInputTokens).toBe(3 + 64 + 2 * 2_240);
  });

  it("can be replaced by the operator's row", () => {
    const capabilities = { outputTokens: { "1K": 500, default: 900 }, textTokens: 10, referenceTokens: 1 };
    expect(normalize({ prompt: "x", image: LINK }, { capabilities })).toMatchObject({
      maxTokensPerImage: 510,
      maxTextTokensPerImage: 10,
      maxInputTokens: 66,
    });
    expect(normalize({ size: "2K" }, { capabilities })).toMatchObject({ maxTokensPerImage: 910 });
  });
});

describe("the response format", () => {
  it.each<[object, Partial<NormalizeContext>, string]>([
    [{}, {}, "b64_json"],
    [{}, { ownResponseFormat: "b64_json" }, "b64_json"],
    [{}, { defaultResponseFormat: "url" }, "url"],
    [{ response_format: "b64_json" }, { defaultResponseFormat: "url" }, "b64_json"],
  ])("of %j with %j is %s", (fields, context, expected) => {
    expect(normalize(fields, context).responseFormat).toBe(expected);
  });
});
