import { describe, expect, it } from "vitest";
import type { ImageRequest, Operation } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import type { NormalizeContext } from "../family.js";
import { qwenImage } from "./qwen-image.js";

const WAN = "wan2.7-image";
const PRO = "wan2.7-image-pro";
const LINK = "https://example.com/a.png";

function normalize(
  fields: object,
  { model = WAN, ...context }: Partial<NormalizeContext> = {},
): ImageRequest {
  return qwenImage.normalize(
    { ...fields },
    {
      operation: "generate",
      model,
      capabilities: qwenImage.findCapabilities?.(model),
      defaultResponseFormat: undefined,
      maxUpstreamCalls: 10,
      ...context,
    },
  );
}

const input = (...content: readonly object[]): object => ({ messages: [{ role: "user", content }] });

/** The same parameters in each structure: the shorthand, the standard one, and DashScope's own endpoint. */
const short = (parameters: object): ImageRequest => normalize({ prompt: "a fox", ...parameters });
const standard = (parameters: object): ImageRequest =>
  normalize({ prompt: "-", input: input({ text: "a fox" }), parameters });
const native = (parameters: object): ImageRequest =>
  normalize({ input: input({ text: "a fox" }), parameters }, { operation: "native" });

const parametersOf = ({ upstreamFields }: ImageRequest): JsonObject =>
  upstreamFields["parameters"] as JsonObject;

describe("the number of images of Wan", () => {
  it.each<[string, object, sent: unknown, most: number, (parameters: object) => ImageRequest]>([
    ["the shorthand", {}, 1, 1, short],
    ["the shorthand", { n: 0 }, 1, 1, short],
    ["the shorthand", { n: 1 }, 1, 1, short],
    ["the shorthand", { n: 4 }, 4, 4, short],
    ["the shorthand", { parameters: { n: 3 } }, 3, 3, short],
    ["the shorthand", { enable_sequential: true }, undefined, 12, short],
    ["the shorthand", { enable_sequential: true, n: 12 }, 12, 12, short],
    ["the shorthand", { enable_sequential: false }, 1, 1, short],
    ["the standard structure", {}, undefined, 4, standard],
    ["the standard structure", { n: 1 }, 1, 1, standard],
    ["the standard structure", { enable_sequential: true }, undefined, 12, standard],
    ["the standard structure", { enable_sequential: true, n: 5 }, 5, 5, standard],
    ["DashScope's endpoint", {}, undefined, 4, native],
    ["DashScope's endpoint", { n: null }, null, 4, native],
    ["DashScope's endpoint", { n: 2 }, 2, 2, native],
    ["DashScope's endpoint", { enable_sequential: true }, undefined, 12, native],
  ])("in %s with %o is sent as %o and held for %i", (_name, parameters, sent, most, read) => {
    const request = read(parameters);
    expect(parametersOf(request)["n"]).toBe(sent);
    expect(request.maxImages).toBe(most);
    expect(request.upstreamCalls).toBeUndefined();
  });

  it.each<[string, object, (parameters: object) => ImageRequest]>([
    ["n", { n: 5 }, short],
    ["n", { n: 13, enable_sequential: true }, short],
    ["parameters.n", { n: 5 }, standard],
    ["parameters.n", { n: 13, enable_sequential: true }, standard],
    ["parameters.n", { n: 5 }, native],
    ["parameters.n", { n: 13, enable_sequential: true }, native],
    ["parameters.enable_sequential", { enable_sequential: "yes" }, native],
    ["parameters.enable_sequential", { enable_sequential: 1 }, standard],
    ["thinking_mode", { thinking_mode: "on" }, short],
  ])("has limits: an error names %s for %o", (param, parameters, read) => {
    expect(() => read(parameters)).toThrow(expect.objectContaining({ param }));
  });

  it("of a model that makes one image by default is left out", () => {
    const request = normalize({ prompt: "a fox", n: 1 }, { model: "qwen-image-2.0" });
    expect(parametersOf(request)).toEqual({});
  });
});

describe("the fields of Wan", () => {
  it("have their places in parameters", () => {
    const fields = {
      watermark: true,
      seed: 7,
      thinking_mode: false,
      bbox_list: [[[0, 0, 10, 10]]],
      color_palette: [{ hex: "#FF0000", ratio: "100%" }],
      negative_prompt: "blurry",
    };
    const request = short(fields);
    expect(parametersOf(request)).toEqual({ n: 1, ...fields });
    expect(request.ignored).toEqual([]);
  });

  it.each<Operation>(["generate", "edit"])("of %s take up to nine reference images", (operation) => {
    const take = (count: number): ImageRequest =>
      normalize({ prompt: "a fox", image: Array.from({ length: count }, () => LINK) }, { operation });
    expect(take(9).images).toHaveLength(9);
    expect(() => take(10)).toThrow(expect.objectContaining({ param: "image" }));
  });
});

describe("the size of Wan", () => {
  it.each<[string, object, string | undefined, number]>([
    [WAN, { size: "1K" }, "1K", 1024 ** 2],
    [WAN, { size: "2k" }, "2K", 2048 ** 2],
    [WAN, { size: "1280x720" }, "1280*720", 1280 * 720],
    [WAN, {}, undefined, 2048 ** 2],
    [PRO, { size: "4K" }, "4K", 4096 ** 2],
    [PRO, { size: "4096x4096", image: LINK }, "4096*4096", 4096 ** 2],
    [PRO, { size: "2K", image: LINK }, "2K", 2048 ** 2],
  ])("%s %o is sent as %s and has %i pixels", (model, fields, sent, pixels) => {
    const request = normalize({ prompt: "a fox", ...fields }, { model });
    expect(parametersOf(request)["size"]).toBe(sent);
    expect(request.maxPixels).toBe(pixels);
  });

  it.each([
    [WAN, { size: "4K" }],
    [WAN, { size: "3K" }],
    [WAN, { size: "4096x4096" }],
    [WAN, { size: "256x256" }],
    [WAN, { size: "4096x400" }],
    [PRO, { size: "4K", image: LINK }],
  ])("%s refuses %o", (model, fields) => {
    expect(() => normalize({ prompt: "a fox", ...fields }, { model })).toThrow(
      expect.objectContaining({ param: "size" }),
    );
  });

  it.each([
    [PRO, { size: "4k" }, "4K"],
    [PRO, { size: "4K", image: LINK }, "2K"],
    [WAN, { size: "8K" }, "2K"],
    [WAN, { size: "256x256" }, "512*512"],
    [WAN, { aspect_ratio: "16:9", resolution: "1K" }, "1360*765"],
  ])("with sizes: nearest, %s takes %o as %s", (model, fields, sent) => {
    const request = normalize({ prompt: "a fox", ...fields }, { model, sizes: "nearest" });
    expect(parametersOf(request)["size"]).toBe(sent);
  });
});

it("a response of Wan states one size for all images", () => {
  const content = [
    { type: "image", image: `${LINK}?1` },
    { type: "image", image: `${LINK}?2` },
  ];
  const body = {
    output: { choices: [{ finish_reason: "stop", message: { role: "assistant", content } }] },
    usage: { image_count: 2, size: "2048*1024" },
    request_id: "r-1",
  };
  expect(qwenImage.fromUpstream(body, short({ n: 2 }))).toMatchObject({
    images: [{ url: `${LINK}?1` }, { url: `${LINK}?2` }],
    made: [{ size: "2048*1024" }, { size: "2048*1024" }],
    usage: { generated_images: 2 },
  });
});
