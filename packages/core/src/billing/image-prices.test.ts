import { describe, expect, it } from "vitest";
import type { MadeImage, Usage } from "../types.js";
import type { ChargeReport, RequestBounds } from "./charge.js";
import type { ModelDetails } from "./model-details.js";
import { calculateCharge, createPriceList, estimateCharge } from "./pricing.js";

const PRO: ModelDetails = {
  pricing_mode: "per-request",
  image_prices: [{ up_to_pixels: 2_359_296, price: "0.045" }, { price: "0.09" }],
  reference_image_price: "0.003",
  free_reference_images: 1,
  layer_price: "0.02",
};

const small: MadeImage = { size: "1024x1024" };
const large: MadeImage = { size: "2048x2048" };
const layer: MadeImage = { size: "512x512", isLayer: true };
const sizeless: MadeImage = {};
const reported = (generated_images: number): Usage => ({ generated_images });

function chargeOf(report: ChargeReport, details = PRO): string {
  return createPriceList({ model_details: { m: details } })
    .find("m", "default")
    .charge(report).amount;
}

describe("image_prices", () => {
  it.each<[string, Usage | undefined, readonly MadeImage[], string]>([
    ["an image of the first tier", reported(1), [small], "0.045"],
    ["an image at the end of the first tier", reported(1), [{ size: "1536x1536" }], "0.045"],
    ["an image above the end of the first tier", reported(1), [{ size: "1536x1537" }], "0.09"],
    ["a size with an asterisk", reported(1), [{ size: "1024*1024" }], "0.045"],
    ["each image by its own size", reported(3), [small, large, small], "0.18"],
    ["an image without a size as the dearest", reported(1), [sizeless], "0.09"],
    ["a size that is a preset as the dearest", reported(1), [{ size: "1K" }], "0.09"],
    ["the images of the response if the provider reports no count", undefined, [small, small], "0.09"],
    ["one image of the dearest tier if nothing is known", undefined, [], "0.09"],
    ["images that the response does not hold as the dearest", reported(2), [small], "0.135"],
    ["a count alone as the dearest", reported(2), [], "0.18"],
    ["the dearest images if fewer are reported", reported(1), [small, large], "0.09"],
    ["nothing if the provider reports that nothing was made", reported(0), [small], "0"],
    ["a layer at its price", reported(3), [small, layer, layer], "0.085"],
    ["layers that the reported count does not include", reported(1), [small, layer, layer], "0.085"],
    ["no layer of a report of nothing", reported(0), [layer, layer], "0"],
  ])("charge %s", (_what, usage, images, amount) => {
    expect(chargeOf({ usage, images })).toBe(amount);
  });

  it("show where each count and each size came from", () => {
    const images = [small, large, sizeless, layer];
    const { amount, derivation } = calculateCharge({
      details: { ...PRO, decimal_places: 2 },
      usage: { generated_images: 3, input_images: 2 },
      images,
      reference_images: 3,
      requested_size: "2048x2048",
      group_ratio: "0.5",
    });
    expect(amount).toBe("0.13");
    expect(derivation).toEqual({
      pricing_mode: "per-request",
      group_ratio: "0.5",
      lines: [
        {
          what: "image",
          count: 1,
          source: "generated_images",
          pixels: 1_048_576,
          pixels_source: "response",
          unit_price: "0.045",
          amount: "0.0225",
        },
        {
          what: "image",
          count: 1,
          source: "generated_images",
          pixels: 4_194_304,
          pixels_source: "response",
          unit_price: "0.09",
          amount: "0.045",
        },
        {
          what: "image",
          count: 1,
          source: "generated_images",
          pixels: 4_194_304,
          pixels_source: "request",
          unit_price: "0.09",
          amount: "0.045",
        },
        {
          what: "layer",
          count: 1,
          source: "images",
          pixels: 262_144,
          pixels_source: "response",
          unit_price: "0.02",
          amount: "0.01",
        },
        { what: "reference_image", count: 2, source: "request", unit_price: "0.003", amount: "0.003" },
        { what: "rounding", amount: "0.0045" },
      ],
      exact: "0.1255",
      decimal_places: 2,
    });
  });

  it("round the sum down with a negative line", () => {
    const { amount, derivation } = calculateCharge({
      details: { ...PRO, decimal_places: 1 },
      usage: reported(1),
      images: [{ size: "1x1" }],
      requested_size: "1x1",
    });
    expect(amount).toBe("0");
    expect(derivation).toMatchObject({ exact: "0.045", lines: [{}, { what: "rounding", amount: "-0.045" }] });
  });
});

describe("the size that was asked for", () => {
  const request: Partial<RequestBounds> = { maxImages: 2, maxPixels: 1024 * 1024 };

  it("prices images whose size the response does not tell", () => {
    expect(chargeOf({ usage: reported(2), images: [sizeless], request })).toBe("0.09");
  });

  it("bounds images that are larger", () => {
    expect(chargeOf({ usage: reported(1), images: [large], request })).toBe("0.045");
  });
});

describe("layer_price", () => {
  const half: ModelDetails = {
    pricing_mode: "per-request",
    image_prices: [{ up_to_pixels: 2_610_000, price: "0.30" }, { price: "0.60" }],
    layer_price: [{ up_to_pixels: 2_610_000, price: "0.15" }, { price: "0.30" }],
  };
  const asked: Partial<RequestBounds> = { maxImages: 17, maxLayers: 16, maxPixels: 4_624_220 };

  it("can depend on the pixels of the layer", () => {
    const images = [large, layer, { ...large, isLayer: true }];
    expect(chargeOf({ usage: reported(3), images, request: asked }, half)).toBe("1.05");
  });

  it("is that of an image by default", () => {
    const details: ModelDetails = { pricing_mode: "per-request", image_prices: [{ price: "2" }] };
    expect(chargeOf({ usage: reported(3), images: [small, layer, layer] }, details)).toBe("6");
  });

  it("is for all images after the base image, also if the response does not mark them", () => {
    expect(chargeOf({ usage: reported(3), images: [large, small, small], request: asked }, half)).toBe("0.9");
    expect(chargeOf({ usage: reported(3), images: [], request: asked }, half)).toBe("1.2");
  });

  it("is for no image of a request without layers", () => {
    const request = { maxImages: 2, maxLayers: 0, maxPixels: 4_624_220 };
    expect(chargeOf({ usage: reported(2), images: [small, layer], request }, half)).toBe("0.6");
  });
});

describe("quality", () => {
  const details: ModelDetails = {
    pricing_mode: "per-request",
    image_prices: [
      { quality: "low", up_to_pixels: 1_048_576, price: "0.011" },
      { quality: "low", price: "0.016" },
      { quality: "high", price: "0.167" },
      { price: "0.042" },
    ],
  };

  it.each<[string | undefined, string | undefined, string]>([
    ["low", undefined, "0.011"],
    ["high", undefined, "0.167"],
    ["medium", undefined, "0.042"],
    [undefined, undefined, "0.167"],
    [undefined, "low", "0.011"],
    ["low", "high", "0.011"],
  ])("asked for as %s and reported as %s selects the tiers", (asked, made, amount) => {
    const report = { usage: reported(1), images: [{ size: "1024x1024", quality: made }] };
    expect(chargeOf({ ...report, request: { quality: asked } }, details)).toBe(amount);
  });

  it("is in the line if the price depends on it", () => {
    const { derivation } = calculateCharge({
      details,
      usage: undefined,
      images: [{ ...small, quality: "low" }],
    });
    expect(derivation).toMatchObject({ lines: [{ quality: "low", unit_price: "0.011" }] });
  });

  it("is held at the dearest price if the request leaves it open", () => {
    expect(estimateCharge({ details, request: { maxImages: 2 } }).amount).toBe("0.334");
    expect(estimateCharge({ details, request: { maxImages: 2, quality: "low" } }).amount).toBe("0.032");
  });
});

describe("reference_image_price", () => {
  it.each([
    [0, "0.045"],
    [1, "0.045"],
    [2, "0.048"],
    [10, "0.072"],
  ])("of %s reference images leads to %s", (reference_images, amount) => {
    const input = { details: PRO, usage: reported(1), images: [small] };
    expect(calculateCharge({ ...input, reference_images }).amount).toBe(amount);
  });

  it("is not charged for a request that made nothing", () => {
    expect(calculateCharge({ details: PRO, usage: reported(0), reference_images: 5 }).amount).toBe("0");
  });

  it("does not follow from usage.input_images, which is net of free ones", () => {
    const usage = { generated_images: 1, input_images: 9 };
    expect(calculateCharge({ details: PRO, usage, images: [small] }).amount).toBe("0.045");
  });

  it("is charged for each call that made an image", () => {
    const made = { usage: reported(2), images: [small, small], reference_images: 3, upstream_calls: 2 };
    expect(calculateCharge({ details: PRO, ...made }).amount).toBe("0.102");
    const request = { maxImages: 3, maxPixels: 1024 * 1024, referenceImages: 3, upstreamCalls: 3 };
    const report = { usage: reported(2), images: [small, small], request, callsWithImages: 2 };
    expect(chargeOf(report)).toBe("0.102");
    expect(estimateCharge({ details: PRO, request }).amount).toBe("0.153");
  });
});

describe("a hold by image size", () => {
  it.each<[string, RequestBounds, string]>([
    ["an unknown size at the dearest price", { maxImages: 2 }, "0.18"],
    ["a size at its own price", { maxImages: 2, maxPixels: 1024 * 1024 }, "0.09"],
    ["the most layers", { maxImages: 17, maxLayers: 16, maxPixels: 2048 * 2048 }, "0.41"],
    ["reference images that are not free", { maxImages: 1, maxPixels: 1, referenceImages: 3 }, "0.051"],
  ])("has %s", (_what, request, amount) => {
    expect(estimateCharge({ details: PRO, request }).amount).toBe(amount);
  });

  it("takes the dearest tier below the size, if smaller images cost more", () => {
    const details: ModelDetails = {
      pricing_mode: "per-request",
      image_prices: [{ up_to_pixels: 100, price: "3" }, { up_to_pixels: 200, price: "1" }, { price: "2" }],
    };
    expect(estimateCharge({ details, request: { maxImages: 1, maxPixels: 150 } }).amount).toBe("3");
  });
});

const tier = (price: unknown, up_to_pixels?: unknown): ModelDetails =>
  ({ pricing_mode: "per-request", image_prices: [{ price, up_to_pixels }, { price: "1" }] }) as ModelDetails;

describe("prices by image size that are not usable", () => {
  it.each<[ModelDetails, string]>([
    [{ pricing_mode: "per-request", image_prices: [] }, "image_prices must hold at least one price"],
    [tier("-1", 5), "image_prices[0].price must be a decimal"],
    [tier("1", 1.5), "image_prices[0].up_to_pixels must be a whole number"],
    [{ ...PRO, layer_price: "free" }, "layer_price[0].price must be a decimal"],
    [{ ...PRO, layer_price: [{ up_to_pixels: 9, price: "1" }] }, "layer_price needs a last tier"],
    [{ ...PRO, reference_image_price: "x" }, "reference_image_price must be a decimal"],
    [{ ...PRO, free_reference_images: -1 }, "free_reference_images must be a whole number"],
  ])("are refused", (details, message) => {
    expect(() => calculateCharge({ details, usage: undefined })).toThrow(RangeError);
    expect(() => calculateCharge({ details, usage: undefined })).toThrow(message);
  });

  it.each(["2K", "", "1024 x 1024"])("as is the requested size %j", (requested_size) => {
    expect(() => calculateCharge({ details: PRO, usage: undefined, requested_size })).toThrow(
      /^requested_size must be a size in pixels/,
    );
  });
});
