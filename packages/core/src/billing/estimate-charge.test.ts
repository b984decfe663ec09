import { describe, expect, it } from "vitest";
import type { RequestBounds } from "./charge.js";
import type { ModelDetails } from "./model-details.js";
import { estimateCharge } from "./pricing.js";

const perRequest: ModelDetails = { pricing_mode: "per-request", model_price: "0.04" };
const perToken: ModelDetails = {
  pricing_mode: "per-token",
  output_token_price: "1000000",
  input_token_price: "7",
};

describe("an estimate", () => {
  it.each<[string, ModelDetails, RequestBounds, string | undefined, string]>([
    ["one image", perRequest, { maxImages: 1 }, undefined, "0.04"],
    ["every image that may be made", perRequest, { maxImages: 15, maxPixels: 1 }, "0.5", "0.3"],
    ["16,384 tokens for 2048 × 2048", perToken, { maxImages: 1, maxPixels: 2048 * 2048 }, "1", "16384"],
    ["65,536 tokens for an unknown size", perToken, { maxImages: 1 }, "1", "65536"],
    ["a token for what is begun of one", perToken, { maxImages: 1, maxPixels: 257 }, "1", "2"],
    [
      "tokens as the family bounds them",
      perToken,
      { maxImages: 2, maxPixels: 512, maxTokensPerImage: 9 },
      "1",
      "18",
    ],
    ["tokens of every image", perToken, { maxImages: 4, maxPixels: 512 }, "0.5", "4"],
    [
      "tokens at the input price where that is higher",
      { ...perToken, output_token_price: "3" },
      { maxImages: 1, maxPixels: 512 },
      "1000000",
      "14",
    ],
    ["a rounded one", { ...perRequest, decimal_places: 1 }, { maxImages: 2 }, undefined, "0.1"],
  ])("is %s", (_what, details, request, group_ratio, amount) => {
    expect(estimateCharge({ details, request, group_ratio }).amount).toBe(amount);
  });

  it("says that its numbers follow from the request", () => {
    expect(estimateCharge({ details: perRequest, request: { maxImages: 3 } }).derivation).toMatchObject({
      count: 3,
      count_source: "request",
    });
    expect(
      estimateCharge({ details: perToken, request: { maxImages: 3, maxPixels: 256 } }).derivation,
    ).toMatchObject({ output_tokens: 3, other_tokens: 0, token_source: "request", unpriced: false });
  });

  it.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, "2", null, true, 1n, {}])(
    "of %s images, or of images with that number of pixels, is refused",
    (junk) => {
      const bound = junk as number;
      for (const details of [perRequest, perToken]) {
        expect(() => estimateCharge({ details, request: { maxImages: bound } })).toThrow(
          /^request\.maxImages must be a whole number of at least 1, not /,
        );
        if (bound === null) continue;
        expect(() => estimateCharge({ details, request: { maxImages: 1, maxPixels: bound } })).toThrow(
          /^request\.maxPixels must be a whole number of at least 1, not /,
        );
      }
    },
  );

  it("of more tokens than can be counted is refused", () => {
    const request = { maxImages: Number.MAX_SAFE_INTEGER, maxPixels: 257 };
    expect(() => estimateCharge({ details: perToken, request })).toThrow(RangeError);
  });

  it("needs a usable price and ratio, as a charge does", () => {
    const request = { maxImages: 1 };
    expect(() => estimateCharge({ details: { ...perRequest, model_price: "-1" }, request })).toThrow(
      RangeError,
    );
    expect(() => estimateCharge({ details: perRequest, request, group_ratio: "1e3" })).toThrow(RangeError);
  });
});
