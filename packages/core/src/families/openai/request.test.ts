import { describe, expect, it } from "vitest";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import type { Capabilities } from "../capabilities.js";
import type { NormalizeContext } from "../family.js";
import { openai } from "./openai.js";

const LINK = "https://example.com/a.png";
const DATA_URL = "data:image/png;base64,iVBORw0KGgo=";

function normalize(
  fields: JsonObject,
  { model = "gpt-image-2", ...context }: Partial<NormalizeContext> = {},
): ImageRequest {
  return openai.normalize(
    { prompt: "a fox", ...fields },
    {
      operation: "generate",
      model,
      capabilities: openai.findCapabilities?.(model),
      defaultResponseFormat: undefined,
      maxUpstreamCalls: 10,
      ...context,
    },
  );
}

describe("a request gets a 400", () => {
  it.each<[string, JsonObject, string, Partial<NormalizeContext>?]>([
    ["without a prompt", { prompt: "" }, "prompt"],
    ["with n of 0", { n: 0 }, "n"],
    ["with n of 11", { n: 11 }, "n"],
    ["with n that is not whole", { n: 1.5 }, "n"],
    ["with n as a string", { n: "2" }, "n"],
    ["with a side that is not a multiple of 16", { size: "1500x1500" }, "size"],
    ["with too many pixels", { size: "3840x3840" }, "size"],
    ["with a ratio above 3:1", { size: "3216x1040" }, "size"],
    ["with a size that the model has not", { size: "2048x2048" }, "size", { model: "gpt-image-1.5" }],
    ["with a preset", { size: "2K" }, "size"],
    ["with a quality that the model has not", { quality: "xhigh" }, "quality"],
    ["with the quality of an older API", { quality: "hd" }, "quality"],
    ["with a format that the model has not", { output_format: "svg" }, "output_format"],
    ["with a background that does not exist", { background: "blue" }, "background"],
    ["with a transparent JPEG", { background: "transparent", output_format: "jpeg" }, "output_format"],
    ["with partial images without a stream", { partial_images: 1 }, "partial_images"],
    ["with too many partial images", { partial_images: 4, stream: true }, "partial_images"],
    ["with another response format", { response_format: "png" }, "response_format"],
    ["with 17 images", { image: Array.from({ length: 17 }, () => LINK) }, "image"],
    ["with an image that is not a link", { image: ["ftp://example.com/a"] }, "image[0]"],
    ["with a mask without an image", { mask: LINK }, "image"],
    ["with a mask and a markup", { image: LINK, mask: LINK, markup: LINK }, "markup"],
    [
      "with a stream of SVG",
      { output_format: "svg", stream: true },
      "stream",
      { model: "gpt-image-2.6-flare" },
    ],
    ["with a stream of a model that has none", { stream: true }, "stream", { model: "grok-imagine-image" }],
    ["with n above the calls of fan-out", { n: 11 }, "n", { model: "cogview-4" }],
    ["with n without fan-out", { n: 2 }, "n", { model: "cogview-4", maxUpstreamCalls: 1 }],
    [
      "with more images and references than a row allows",
      { n: 2, image: [LINK, LINK] },
      "n",
      { capabilities: { maxReferencesAndImages: 3 } },
    ],
    ["with an image for a model that takes none", { image: LINK }, "image", { model: "glm-image" }],
  ])("%s", (_what, fields, param, context) => {
    expect(() => normalize(fields, context)).toThrow(expect.objectContaining({ status: 400, param }));
  });
});

describe("the fields for the provider", () => {
  it.each<[string, JsonObject, JsonObject, Partial<NormalizeContext>?]>([
    ["are the client's", { n: 1, user: "u", seed: 3, x: null }, { n: 1, user: "u", seed: 3, x: null }],
    ["have no response_format", { response_format: "b64_json" }, {}],
    ["keep auto", { size: "auto", quality: "auto" }, { size: "auto", quality: "auto" }],
    ["have no images", { image: LINK, mask: LINK }, {}],
    ["keep a free size", { size: "3840x2160" }, { size: "3840x2160" }],
    [
      "have the nearest size",
      { size: "1000x1000" },
      { size: "1024x1024" },
      { sizes: "nearest", model: "gpt-image-1.5" },
    ],
    [
      "have the nearest size of a ratio",
      { aspect_ratio: "16:9", resolution: "2K" },
      { size: "2816x1584" },
      { sizes: "nearest" },
    ],
    ["keep a stream", { stream: true, partial_images: 2 }, { stream: true, partial_images: 2 }],
    [
      "have no stream that the gateway makes",
      { output_format: "svg", stream: true, partial_images: 2 },
      { output_format: "svg" },
      { streamFormat: "openai", model: "gpt-image-2.6-flare" },
    ],
    ["have no n if a call makes one image", { n: 3 }, {}, { model: "cogview-4" }],
    [
      "are not checked without a row",
      { size: "7x9", quality: "x" },
      { size: "7x9", quality: "x" },
      { model: "x" },
    ],
  ])("%s", (_what, fields, sent, context) => {
    expect(normalize(fields, context).upstreamFields).toEqual({ prompt: "a fox", ...sent });
  });

  it("name a replaced size, and several calls", () => {
    expect(normalize({ size: "1000x1000" }, { sizes: "nearest", model: "gpt-image-1.5" })).toMatchObject({
      replacedSize: "1024x1024",
      maxPixels: 1024 * 1024,
    });
    expect(normalize({ n: 3 }, { model: "cogview-4" })).toMatchObject({ upstreamCalls: 3, maxImages: 3 });
  });

  it("that no channel knows are named as ignored", () => {
    const fields = { moderation: "low", user: "u", seed: 3 };
    expect(normalize(fields, { dialects: ["together"] }).ignored).toEqual(["moderation", "user"]);
    expect(normalize(fields, { dialects: ["together", "xai"] }).ignored).toEqual(["moderation"]);
    expect(normalize(fields, { dialects: ["together", undefined] }).ignored).toEqual([]);
  });
});

describe("the bound of tokens", () => {
  const own: Capabilities = { outputTokens: { low: 100, default: 500 }, referenceTokens: 7 };

  it.each<[string, JsonObject, number, Partial<NormalizeContext>?]>([
    ["of a quality", { quality: "low", size: "1024x1024" }, 216],
    ["of the dearest quality", {}, 7_050],
    [
      "of the dearest quality of another model",
      { quality: "auto" },
      14_100,
      { model: "gpt-image-2.5-flare" },
    ],
    ["of a larger size", { quality: "low", size: "2048x1536" }, 432],
    ["with partial images", { quality: "low", stream: true, partial_images: 3 }, 516],
    ["of a model without a row", {}, 14_100, { model: "x" }],
    ["of a row of the options", { quality: "low" }, 100, { capabilities: own }],
    ["of another quality in such a row", { quality: "max" }, 500, { capabilities: own }],
    ["of auto in such a row", {}, 500, { capabilities: own }],
  ])("of output is that %s", (_what, fields, tokens, context) => {
    expect(normalize(fields, context).maxTokensPerImage).toBe(tokens);
  });

  it.each<[string, JsonObject, number]>([
    ["the prompt's bytes", { prompt: "狐狸" }, 6 + 64],
    ["each image and the mask", { image: [LINK, DATA_URL], mask: LINK }, 5 + 64 + 3 * 7],
    ["each report of a stream", { n: 3, stream: true }, 3 * (5 + 64)],
    ["one report of JSON", { n: 3 }, 5 + 64],
  ])("of input counts %s", (_what, fields, tokens) => {
    expect(normalize(fields, { capabilities: own }).maxInputTokens).toBe(tokens);
  });
});
