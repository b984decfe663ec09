import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../util/json.js";
import type { NormalizeContext } from "../family.js";
import { findSeedreamCapabilities } from "./capabilities.js";
import { normalizeNative } from "./request.js";

const CONTEXT: NormalizeContext = {
  operation: "native",
  model: "seedream-4-5-251128",
  capabilities: undefined,
  defaultResponseFormat: "b64_json",
};

const normalize = (fields: JsonObject, context: Partial<NormalizeContext> = {}) =>
  normalizeNative({ prompt: "x", ...fields }, { ...CONTEXT, ...context });

describe("a native body", () => {
  it("goes out whole but for n", () => {
    const fields = { prompt: "x", n: 3, size: "any", image: [1, "a"], unknown: null };
    const { n, ...rest } = fields;
    expect(normalize(fields)).toMatchObject({ upstreamFields: rest, ignored: ["n"] });
    expect(normalize(fields).upstreamFields).not.toHaveProperty("n", n);
  });

  it.each<[JsonObject, number]>([
    [{}, 1],
    [{ n: 7 }, 1],
    [{ sequential_image_generation: "disabled", sequential_image_generation_options: { max_images: 9 } }, 1],
    [{ sequential_image_generation: null, sequential_image_generation_options: { max_images: 9 } }, 1],
    [{ sequential_image_generation_options: { max_images: 9 } }, 1],
    [{ sequential_image_generation: "auto" }, 15],
    [{ sequential_image_generation: "auto", sequential_image_generation_options: null }, 15],
    [{ sequential_image_generation: "auto", sequential_image_generation_options: { max_images: null } }, 15],
    [{ sequential_image_generation: "auto", image: "https://x" }, 14],
    [{ sequential_image_generation: "auto", image: ["a", "b", "c"] }, 12],
    [{ sequential_image_generation: "auto", image: Array.from({ length: 40 }, () => "a") }, 1],
    [{ sequential_image_generation: "auto", image: { a: 1 } }, 15],
    [{ sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 4 } }, 4],
    [{ layer_decomposition: true }, 100],
    [{ layer_decomposition: false }, 1],
    [{ layer_decomposition: null }, 1],
    [{ layer_decomposition: true, sequential_image_generation: "auto", image: ["a", "b"] }, 13 * 100],
  ])("of %j makes at most %i images", (fields, maxImages) => {
    expect(normalize(fields).maxImages).toBe(maxImages);
  });

  it.each<[string, Partial<NormalizeContext>, number]>([
    ["any model, if its row is not known", {}, 100],
    [
      "any model, if a channel hides the name",
      { upstreamModels: ["doubao-seedream-5-0-pro-260628", "ep-1"] },
      100,
    ],
    ["5.5 by its name at a channel", { upstreamModels: ["doubao-seedream-5-5-261028"] }, 100],
    ["5.0 Pro by its name at a channel", { upstreamModels: ["dola-seedream-5-0-pro-260628"] }, 17],
    ["the channels' names", { upstreamModels: ["seedream-4-5-251128", "doubao-seedream-5-0-flash"] }, 17],
    [
      "its own row, whatever the channels' names",
      { capabilities: { layers: { max: 3 } }, upstreamModels: ["ep-1"] },
      4,
    ],
    ["a row that says none", { capabilities: { layers: "none" }, upstreamModels: ["ep-1"] }, 1],
    [
      "the channels' names, if its own row does not say",
      { capabilities: {}, upstreamModels: ["seedream-5-0-pro"] },
      17,
    ],
  ])("with layers counts the base image and the most layers of %s", (_what, context, maxImages) => {
    expect(normalize({ layer_decomposition: true }, context).maxImages).toBe(maxImages);
  });

  it.each(["true", 1, {}])("with %j for layer_decomposition is refused", (layer_decomposition) => {
    expect(() => normalize({ layer_decomposition })).toThrow("layer_decomposition must be true or false.");
  });

  it("is held to the operator's own row of capabilities", () => {
    const capabilities = { imagesPerCall: 4, maxReferencesAndImages: 6 };
    const auto = { sequential_image_generation: "auto" };
    expect(
      normalize({ ...auto, sequential_image_generation_options: { max_images: 4 } }, { capabilities })
        .maxImages,
    ).toBe(4);
    expect(normalize({ ...auto, image: ["a", "b"] }, { capabilities }).maxImages).toBe(4);
    expect(normalize({ ...auto, image: ["a", "b", "c"] }, { capabilities }).maxImages).toBe(3);
    expect(normalize(auto, { capabilities }).maxImages).toBe(4);
    expect(() =>
      normalize({ ...auto, sequential_image_generation_options: { max_images: 5 } }, { capabilities }),
    ).toThrow("asks for 5 images; at most 4 are allowed.");
  });

  it("that a model of one image refuses goes to the provider, which says so", () => {
    const capabilities = findSeedreamCapabilities("seedream-5-5");
    const fields = { sequential_image_generation: "auto", stream: true };
    expect(normalize(fields, { capabilities })).toMatchObject({ upstreamFields: fields, maxImages: 15 });
    const options = { max_images: 16 };
    expect(() =>
      normalize({ ...fields, sequential_image_generation_options: options }, { capabilities }),
    ).toThrow("asks for 16 images; at most 15 are allowed.");
  });

  it.each<[JsonObject, string]>([
    [{}, "url"],
    [{ response_format: "b64_json" }, "b64_json"],
    [{ response_format: "url" }, "url"],
    [{ response_format: 5 }, "url"],
  ])("of %j gets %s, whatever the default", (fields, responseFormat) => {
    expect(normalize(fields).responseFormat).toBe(responseFormat);
    expect(normalize(fields).upstreamFields).toEqual({ prompt: "x", ...fields });
  });

  it.each([
    [true, true],
    [false, false],
    [null, false],
    [undefined, false],
  ])("with stream %j asks for a stream: %j", (stream, expected) => {
    expect(normalize({ stream }).stream).toBe(expected);
  });
});
