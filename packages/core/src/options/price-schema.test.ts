import { describe, expect, it } from "vitest";
import { seedream } from "../families/seedream/seedream.js";
import { createGateway } from "../gateway.js";
import { GatewayOptionsError } from "./options-error.js";

const READS_QUALITY = { ...seedream, name: "painter", readsQuality: true };

/**
 * The problems of a price that `createGateway` reports, as `path message`. The paths begin after
 * `billing.model_details`.
 */
function problemsOf(details: object, model = "a"): readonly string[] {
  try {
    createGateway({
      models: {
        a: { family: "seedream" },
        b: { family: "qwen-image" },
        c: { family: "painter" },
        "series-*": { family: "seedream" },
      },
      channels: [
        { id: "ark", family: "seedream", apiKey: "k1" },
        { id: "bailian", family: "qwen-image", apiKey: "k2" },
        { id: "own", family: "painter", apiKey: "k3" },
      ],
      callers: [{ id: "me", key: "secret" }],
      families: [READS_QUALITY],
      billing: {
        model_details: {
          "*": { pricing_mode: "per-request", model_price: "1" },
          [model]: { pricing_mode: "per-request", ...details } as never,
        },
      },
    });
    return [];
  } catch (error) {
    if (!(error instanceof GatewayOptionsError)) throw error;
    return error.problems.map(
      ({ path, message }) => `${path.replace("billing.model_details", "")} ${message}`,
    );
  }
}

const image_prices = [{ up_to_pixels: 2_610_000, price: "0.30" }, { price: "0.60" }];

describe("a price by dimension is taken", () => {
  it.each<[string, object]>([
    ["with tiers", { image_prices }],
    ["with one price for all sizes, and numbers", { image_prices: [{ price: 0.3 }] }],
    [
      "with references and layers",
      { image_prices, reference_image_price: "0.003", free_reference_images: 1, layer_price: "0.15" },
    ],
    ["with layers by size", { image_prices, layer_price: [{ up_to_pixels: 9, price: 1 }, { price: 2 }] }],
    ["with a rounding", { image_prices, decimal_places: 2 }],
    ["with fields that are undefined", { image_prices: undefined, layer_price: undefined, model_price: "1" }],
    [
      "with kinds of tokens",
      {
        pricing_mode: "per-token",
        output_token_price: "40",
        input_token_price: "5",
        input_text_token_price: "5",
        input_image_token_price: "10",
        cached_input_token_price: "1.25",
        output_image_token_price: "40",
        output_text_token_price: "10",
      },
    ],
  ])("%s", (_what, details) => {
    expect(problemsOf(details)).toEqual([]);
  });

  it("for a series", () => {
    expect(problemsOf({ image_prices }, "series-*")).toEqual([]);
  });

  it("by quality, if the family knows it", () => {
    expect(problemsOf({ image_prices: [{ quality: "low", price: "1" }, ...image_prices] }, "c")).toEqual([]);
  });
});

describe("a wrong price by dimension is named", () => {
  const DECIMAL = 'must be a decimal of at least 0, such as "0.04"';

  it.each<[string, object]>([
    ['.a.model_price must be a decimal such as "0.04", or give image_prices', {}],
    [".a.image_prices must be a list of prices by size", { image_prices: "0.30" }],
    [".a.image_prices must hold at least one price", { image_prices: [] }],
    [
      ".a.image_prices[0] must be an object with price, and with up_to_pixels if it is not the last one",
      { image_prices: ["0.30"] },
    ],
    ['.a.image_prices[0].price must be a decimal such as "0.04"', { image_prices: [{}] }],
    [`.a.image_prices[0].price ${DECIMAL}`, { image_prices: [{ price: "-1" }] }],
    [
      ".a.image_prices[0].up_to_pixels must be a whole number of pixels",
      { image_prices: [{ up_to_pixels: "2K", price: "1" }, { price: "1" }] },
    ],
    [
      ".a.image_prices[0].up_to_pixels must be at least 1",
      { image_prices: [{ up_to_pixels: 0, price: "1" }, { price: "1" }] },
    ],
    [".a.image_prices[0].upToPixels is not an option", { image_prices: [{ upToPixels: 1, price: "1" }] }],
    [
      ".a.image_prices needs a last tier without up_to_pixels: images above 9 pixels have no price",
      { image_prices: [{ up_to_pixels: 9, price: "1" }] },
    ],
    [
      ".a.image_prices[1].up_to_pixels must be above 2610000, where tier 0 ends",
      { image_prices: [image_prices[0], image_prices[0], image_prices[1]] },
    ],
    [
      ".a.image_prices[2] is never used: tier 1 has no up_to_pixels, so it covers every larger image",
      { image_prices: [...image_prices, { price: "1" }] },
    ],
    [
      ".a.image_prices takes the place of model_price: give only one of them",
      { image_prices, model_price: "1" },
    ],
    [
      ".a.layer_price needs image_prices in the place of model_price, such as [{ price: … }]",
      { model_price: "1", layer_price: "1" },
    ],
    [
      ".a.reference_image_price needs image_prices in the place of model_price, such as [{ price: … }]",
      { model_price: "1", reference_image_price: "1" },
    ],
    [
      ".a.free_reference_images has no effect without reference_image_price",
      { image_prices, free_reference_images: 1 },
    ],
    [
      ".a.free_reference_images must be at least 0",
      { image_prices, reference_image_price: "1", free_reference_images: -1 },
    ],
    [
      '.a.layer_price must be a decimal such as "0.04", or a list of prices by size',
      { image_prices, layer_price: {} },
    ],
    [`.a.layer_price ${DECIMAL}`, { image_prices, layer_price: "half" }],
    [
      ".a.layer_price needs a last tier without up_to_pixels: images above 9 pixels have no price",
      { image_prices, layer_price: [{ up_to_pixels: 9, price: "1" }] },
    ],
    [
      ".a.layer_price[0].quality is not an option",
      { image_prices, layer_price: [{ price: "1", quality: "x" }] },
    ],
    [
      '.a.output_token_price is a price of tokens: it needs pricing_mode "per-token"',
      { image_prices, output_token_price: "1" },
    ],
    [
      '.a.image_prices is a price of images: it needs pricing_mode "per-request"',
      { pricing_mode: "per-token", output_token_price: "1", image_prices },
    ],
    [
      '.a.output_token_price must be a decimal such as "0.04"',
      { pricing_mode: "per-token", output_image_token_price: "1" },
    ],
    [
      ".a.image_prices must not depend on quality: it prices a, and seedream does not know the quality of an image",
      { image_prices: [{ quality: "low", price: "1" }, ...image_prices] },
    ],
    [".a.image_price is not an option", { image_prices, image_price: "1" }],
  ])("%s", (problem, details) => {
    expect(problemsOf(details)).toEqual([problem]);
  });

  it("by kind of token, for a family that reports no tokens", () => {
    const details = { pricing_mode: "per-token", output_token_price: "1", input_text_token_price: "1" };
    expect(problemsOf(details, "b")).toEqual([
      ".b must be per-request: it prices b, and qwen-image reports no tokens",
    ]);
  });

  it("with all problems at once", () => {
    const details = { image_prices: [{ up_to_pixels: 9, price: "x" }], layer_price: "y" };
    expect(problemsOf(details).length).toBeGreaterThanOrEqual(2);
  });
});
