import { describe, expect, it } from "vitest";
import type { Capabilities } from "../families/capabilities.js";
import { createGateway } from "../gateway.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import { createTestGateway, refusal } from "../testing/test-gateway.js";
import type { OptionsProblem } from "./options.js";
import { GatewayOptionsError } from "./options-error.js";

const MODELS = {
  "seedream-*": { family: "seedream" },
  "image-*": { family: "qwen-image" },
  poster: { family: "seedream", capabilities: "seedream-6-0" },
};

/** Options with rows and models of any shape, as plain JavaScript may give them. */
function withRows(capabilities: unknown, models: object = MODELS): GatewayOptions {
  return {
    models,
    capabilities,
    channels: [
      { id: "ark", family: "seedream", apiKey: "k" },
      { id: "bailian", family: "qwen-image", apiKey: "k" },
    ],
    callers: [{ id: "me", key: "secret" }],
  } as GatewayOptions;
}

function problemsOf(options: GatewayOptions): readonly OptionsProblem[] {
  try {
    createGateway(options);
    return [];
  } catch (error) {
    if (error instanceof GatewayOptionsError) return error.problems;
    throw error;
  }
}

const ROW = { references: { max: 2 } };
const rows = (row: unknown): object => ({ seedream: { "seedream-6-0*": row } });
const PATH = 'capabilities.seedream["seedream-6-0*"]';

describe("the option capabilities", () => {
  it("accepts rows with every field", () => {
    const row: Required<Capabilities> = {
      size: { presets: ["1K"], totalPixels: { min: 1, max: 2 }, side: { min: 1, max: 2 }, maxAspectRatio: 2 },
      references: { min: 1, max: 1 },
      sizeWithReferences: { presets: ["1K"] },
      imagesPerCall: 1,
      defaultImages: 1,
      imagesPerSequence: 2,
      maxReferencesAndImages: 2,
      streaming: false,
      sequentialImages: false,
      background: { values: ["auto"], transparentNeedsPng: true },
      layers: { max: 1, sizes: ["auto"] },
      outputFormats: ["png"],
      qualities: ["low"],
      outputTokens: { "1K": 1_120, default: 2_520 },
      textTokens: 8_192,
      referenceTokens: 1_120,
      released: "2026-11-12",
      source: "a document",
      checked: "2026-12",
    };
    expect(problemsOf(withRows(rows(row)))).toEqual([]);
    expect(problemsOf(withRows(rows({ ...row, size: "none", layers: "none" })))).toEqual([]);
    expect(problemsOf(withRows(rows({})))).toEqual([]);
  });

  it.each<[string, unknown, string, string]>([
    ["a list", [], "capabilities", "must be an object of families and their rows"],
    [
      "rows without names",
      { seedream: 1 },
      "capabilities.seedream",
      "must be an object of names and their rows",
    ],
    ["no row", rows("seedream-4-0"), PATH, "must be the name of a row of capabilities, or a row"],
    ["an unknown field", rows({ maxPictures: 1 }), `${PATH}.maxPictures`, "is not an option"],
    [
      "a release that is not a date",
      rows({ released: "2026-13-01" }),
      `${PATH}.released`,
      "must be a date such as 2026-11-12",
    ],
    [
      "a release without a day",
      rows({ released: "2026-11" }),
      `${PATH}.released`,
      "must be a date such as 2026-11-12",
    ],
    ["no images", rows({ imagesPerCall: 0 }), `${PATH}.imagesPerCall`, "must be at least 1"],
    [
      "a min above the max",
      rows({ references: { min: 3, max: 2 } }),
      `${PATH}.references`,
      "must have a min that is not above its max",
    ],
    [
      "pixels in the wrong order",
      rows({ size: { totalPixels: { min: 2, max: 1 } } }),
      `${PATH}.size.totalPixels`,
      "must have a min that is not above its max",
    ],
    ["streaming in words", rows({ streaming: "no" }), `${PATH}.streaming`, "must be true or false"],
    [
      "a sequence of images in words",
      rows({ sequentialImages: 1 }),
      `${PATH}.sequentialImages`,
      "must be true or false",
    ],
    [
      "a background without values",
      rows({ background: {} }),
      `${PATH}.background.values`,
      "must be a list of names",
    ],
    [
      "a background of no value",
      rows({ background: { values: [] } }),
      `${PATH}.background.values`,
      "must not be empty",
    ],
    [
      "a background in words",
      rows({ background: "auto" }),
      `${PATH}.background`,
      "must be an object with values",
    ],
    ["layers in words", rows({ layers: "many" }), `${PATH}.layers`, 'must be "none" or an object with max'],
    ["no layers as a number", rows({ layers: { max: 0 } }), `${PATH}.layers.max`, "must be at least 1"],
    ["layers without a number", rows({ layers: {} }), `${PATH}.layers.max`, "must be a whole number"],
    [
      "an unknown rule for layers",
      rows({ layers: { max: 1, size: [] } }),
      `${PATH}.layers.size`,
      "is not an option",
    ],
    ["no output format", rows({ outputFormats: [] }), `${PATH}.outputFormats`, "must not be empty"],
    ["a date that is not a string", rows({ checked: 2026 }), `${PATH}.checked`, "must be a string"],
    [
      "an unknown family",
      { sedream: { x: ROW } },
      "capabilities.sedream",
      "must be one of seedream, qwen-image",
    ],
    [
      "the same models twice",
      { seedream: { "seedream-6-0*": ROW, "doubao-seedream-6-0*": ROW } },
      'capabilities.seedream["doubao-seedream-6-0*"]',
      "names the same models as seedream-6-0*",
    ],
    [
      "a misspelled name",
      { seedream: { "seedream-6-0*": ROW, "seadream-6-0*": ROW } },
      'capabilities.seedream["seadream-6-0*"]',
      "is a row without a model: no model of seedream has such a name",
    ],
  ])("refuses %s", (_what, capabilities, path, message) => {
    const models = { "seedream-*": { family: "seedream" }, "image-*": { family: "qwen-image" } };
    expect(problemsOf(withRows(capabilities, models))).toEqual([{ path, message }]);
  });

  it("refuses a row of a model that has its own", () => {
    const models = { "seedream-6-0": { family: "seedream", capabilities: {} } };
    expect(problemsOf(withRows(rows(ROW), models))).toEqual([
      { path: PATH, message: "is a row without a model: no model of seedream has such a name" },
    ]);
  });

  it("has the rows that models name; without them the name is an error", () => {
    expect(problemsOf(withRows(rows(ROW)))).toEqual([]);
    expect(problemsOf(withRows(undefined))).toEqual([
      { path: "models.poster.capabilities", message: "is not the name of a row of capabilities of seedream" },
    ]);
  });
});

function links(count: number): readonly string[] {
  return Array.from({ length: count }, () => "https://example.com/a.png");
}

describe("a row of the options", () => {
  const options = {
    models: {
      ...MODELS,
      plain: { family: "seedream", capabilities: "seedream-4-5" },
      own: { family: "seedream", capabilities: { references: { max: 3 } } },
    },
    capabilities: {
      seedream: {
        "seedream-6-0*": { references: { max: 2 } },
        "seedream-6-0-pro": { references: { max: 1 } },
        "seedream-4-5*": { references: { max: 4 } },
        "seedream-5-0-lite": { references: { max: 5 } },
      },
      "qwen-image": { "image-4.0*": { references: { max: 1 } } },
    },
  };

  it.each([
    ["a new model", "seedream-6-0", 2],
    ["a new model with a date", "seedream-6-0-270101", 2],
    ["an exact name before a series", "seedream-6-0-pro", 1],
    ["a model that names the row", "poster", 2],
    ["a replaced row", "seedream-4-5-251128", 4],
    ["a model that names a replaced row", "plain", 4],
    ["only the exact name", "seedream-5-0-lite", 5],
    ["no dated name of an exact name", "seedream-5-0-lite-260128", 14],
    ["no model with its own row", "own", 3],
    ["no other model", "seedream-4-0-250828", 14],
    ["a model of the other family", "image-4.0-pro", 1],
  ])("applies to %s: %s has at most %i references", async (_what, model, max) => {
    const { post } = createTestGateway(undefined, options);
    expect((await post({ model, prompt: "x", image: links(max) })).status).toBe(200);
    expect(await post({ model, prompt: "x", image: links(max + 1) })).toMatchObject({
      status: 400,
      body: refusal("image"),
    });
  });

  it.each(["doubao-seedream-6-0-270101", "dola-seedream-6-0-270101"])(
    "applies to %s, without the provider's prefix",
    async (model) => {
      const { post } = createTestGateway(undefined, {
        models: { [model]: { family: "seedream" } },
        capabilities: { seedream: { "doubao-seedream-6-0*": { size: "none" } } },
      });
      expect(await post({ model, prompt: "x", size: "2K" })).toMatchObject({
        status: 400,
        body: refusal("size"),
      });
    },
  );

  it("makes a name in other letters of a series an error, like a row of the family", async () => {
    const { post } = createTestGateway(undefined, options);
    expect(await post({ model: "seedream-6-0-PRO", prompt: "x" })).toMatchObject({
      status: 404,
      body: { error: { message: expect.stringContaining("send seedream-6-0-pro.") } },
    });
  });

  it("applies to the probe of a channel", async () => {
    const { gateway, calls } = createTestGateway(undefined, {
      models: { "seedream-6-0": { family: "seedream" } },
      capabilities: { seedream: { "seedream-6-0": { references: { min: 1, max: 1 } } } },
    });
    expect(await gateway.probeChannel("ark")).toMatchObject({ ok: true });
    expect(calls[0]?.body["image"]).toMatch(/^data:image\/png/);
  });
});
