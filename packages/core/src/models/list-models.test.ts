import { describe, expect, it } from "vitest";
import { seedream } from "../families/seedream/seedream.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import { CALLER_KEY, createTestGateway } from "../testing/test-gateway.js";

async function list(options: Partial<GatewayOptions>): Promise<unknown[]> {
  const { gateway } = createTestGateway(undefined, options);
  const headers = { authorization: `Bearer ${CALLER_KEY}` };
  const response = await gateway.fetch(new Request("http://gateway.test/v1/models", { headers }));
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

const ark = (modelMapping?: Record<string, string>, id = "ark") => ({
  id,
  family: "seedream",
  apiKey: "k",
  modelMapping,
});
const bailian = (modelMapping?: Record<string, string>) => ({
  id: "bailian",
  family: "qwen-image",
  apiKey: "k",
  modelMapping,
});
const A = { family: "seedream" };
const B = { family: "qwen-image" };

describe("the names of the list of models", () => {
  it.each<[string, Partial<GatewayOptions>, string[]]>([
    [
      "are the exact names of the options, in their order",
      { models: { zebra: A, "image-max": B, apple: A }, channels: [ark(), bailian()] },
      ["zebra", "image-max", "apple"],
    ],
    [
      "of a series are those that a mapping of the series makes of the provider's names",
      {
        models: { "image-edit*": B, "seedream-*": A },
        channels: [
          bailian({ "image-edit*": "qwen-image-edit*" }),
          ark({ "seedream-*": "doubao-seedream-*" }),
        ],
      },
      [
        "image-edit-max",
        "image-edit-plus",
        "image-edit",
        "seedream-5-5-261028",
        "seedream-5-0-pro-260628",
        "seedream-5-0-flash-260915",
        "seedream-5-0-lite-260128",
        "seedream-5-0-260128",
        "seedream-4-5-251128",
        "seedream-4-0-250828",
      ],
    ],
    [
      "are those of a region",
      { models: { "seedream-*": A }, channels: [ark({ "seedream-*": "dola-seedream-*" })] },
      ["seedream-5-5-261028", "seedream-5-0-pro-260628", "seedream-5-0-flash-260915"],
    ],
    [
      "of a series without a mapping have the spelling of the series",
      { models: { "image-edit*": B, "doubao-seedream-4*": A }, channels: [bailian(), ark()] },
      [
        "image-edit-max",
        "image-edit-plus",
        "image-edit",
        "doubao-seedream-4-5-251128",
        "doubao-seedream-4-0-250828",
      ],
    ],
    [
      "of a series come from the keys of mappings first, then from prices",
      {
        models: { "image-2.0*": B },
        channels: [bailian({ "image-2.0-x": "x", "image-2.0*": "qwen-image-2.0*", other: "x" })],
        billing: {
          model_details: {
            "image-2.0-y": { pricing_mode: "per-request", model_price: "1" },
            "image-2.0*": { pricing_mode: "per-request", model_price: "1" },
          },
        },
      },
      ["image-2.0-x", "image-2.0-y", "image-2.0-pro", "image-2.0"],
    ],
    [
      "come from rows of the options",
      {
        models: { "seedream-6*": A },
        channels: [ark({ "seedream-6*": "doubao-seedream-6*" })],
        capabilities: { seedream: { "doubao-seedream-6-0-261215": {}, "seedream-6-1*": {} } },
      },
      ["seedream-6-0-261215"],
    ],
    [
      "are listed once, with the narrower entry",
      {
        models: { "image-*": B, "image-edit*": B, "image-max": B },
        channels: [bailian({ "image-*": "qwen-image-*" })],
      },
      [
        "image-3.0-pro",
        "image-3.0",
        "image-2.0-pro",
        "image-2.0",
        "image-max",
        "image-plus",
        "image-edit-max",
        "image-edit-plus",
        "image-edit",
      ],
    ],
    [
      "do not contain names that are mapped elsewhere",
      {
        models: { "image-*": B },
        channels: [bailian({ "image-*": "qwen-image-*", "image-2*": "own-2*", "image-3*": "own-3*" })],
      },
      ["image-max", "image-plus", "image-edit-max", "image-edit-plus", "image-edit"],
    ],
    [
      "do not contain a series whose names are not known",
      { models: { "image-*": B, "poster*": A }, channels: [bailian({ "image-*": "own" }), ark()] },
      [],
    ],
    [
      "are those of all channels",
      {
        models: { "seedream-4-*": A },
        channels: [
          ark({ "seedream-4-0-250828": "ep-1" }),
          ark({ "seedream-4-*": "doubao-seedream-4-*" }, "two"),
        ],
      },
      ["seedream-4-0-250828", "seedream-4-5-251128"],
    ],
    [
      "contain no model without a price",
      {
        models: { "image-*": B },
        channels: [bailian({ "image-*": "qwen-image-*" })],
        billing: { model_details: { "image-edit*": { pricing_mode: "per-request", model_price: "1" } } },
      },
      ["image-edit-max", "image-edit-plus", "image-edit"],
    ],
    [
      "have the configured spelling if case does not count",
      {
        caseInsensitiveNames: true,
        models: { "Image-Edit*": B, Poster: A },
        channels: [bailian({ "Image-Edit*": "qwen-image-edit*" }), ark()],
      },
      ["Image-Edit-max", "Image-Edit-plus", "Image-Edit", "Poster"],
    ],
  ])("%s", async (_what, options, names) => {
    expect(await list(options)).toEqual(names);
  });

  it.each([
    [["image-max"], false, ["image-max"]],
    [["image-edit-*"], false, ["image-edit-max", "image-edit-plus"]],
    [["IMAGE-MAX"], false, []],
    [["IMAGE-MAX", "Image-Edit-P*"], true, ["image-max", "image-edit-plus"]],
    [[], false, []],
  ])("are those that the caller may use: %j", async (models, caseInsensitiveNames, names) => {
    const options = {
      models: { "image-max": B, "image-edit*": B },
      channels: [bailian({ "image-max": "qwen-image-max", "image-edit*": "qwen-image-edit*" })],
      caseInsensitiveNames,
      callers: [{ id: "me", key: CALLER_KEY, models }],
    };
    expect(await list(options)).toEqual(names);
  });

  it("come from a family of your own", async () => {
    const families = [{ ...seedream, name: "own", modelNames: ["own-1", "own-2", "other"] }];
    const channels = [{ id: "own", family: "own", apiKey: "k" }];
    const models = { "own-*": { family: "own" } };
    expect(await list({ families, models, channels })).toEqual(["own-1", "own-2"]);
  });
});
