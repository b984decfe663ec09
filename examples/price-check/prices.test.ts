// Unit tests of prices alone: no gateway, no server, no provider.
import { calculateCharge } from "@calotype/core/billing";
import { describe, expect, it } from "vitest";
import { prices } from "./prices.ts";

const { model_details, group_ratio } = prices;

describe("by image: model_price × generated_images × group_ratio", () => {
  const details = model_details["seedream-4-5-251128"];

  it.each([
    { group: "default", images: 1, charge: "0.04" },
    { group: "default", images: 4, charge: "0.16" },
    { group: "vip", images: 4, charge: "0.128" },
    { group: "reseller", images: 15, charge: "0.393" },
    { group: "default", images: 0, charge: "0" },
  ] as const)("$images images cost $group $charge", ({ group, images, charge }) => {
    const usage = { generated_images: images };

    expect(calculateCharge({ details, usage, group_ratio: group_ratio[group] }).amount).toBe(charge);
  });

  it("counts one request when the provider reports no generated_images", () => {
    const { amount, derivation } = calculateCharge({ details, usage: undefined });

    expect(amount).toBe("0.04");
    expect(derivation).toMatchObject({ count: 1, count_source: "default" });
  });

  it("shows every number that led to the charge", () => {
    const usage = { generated_images: 3 };

    expect(calculateCharge({ details, usage, group_ratio: group_ratio.vip }).derivation).toEqual({
      pricing_mode: "per-request",
      model_price: "0.04",
      count: 3,
      count_source: "generated_images",
      group_ratio: "0.8",
      exact: "0.096",
    });
  });
});

describe("by token: prices are for a million", () => {
  const details = model_details["seedream-5-0-lite-260128"];

  it("charges output tokens at their price and the rest at the other", () => {
    const usage = { generated_images: 1, output_tokens: 16_384, total_tokens: 16_484 };

    // 16384 × 15.5 ÷ 1,000,000 + 100 × 2 ÷ 1,000,000
    expect(calculateCharge({ details, usage }).amount).toBe("0.254152");
    expect(calculateCharge({ details, usage, group_ratio: group_ratio.vip }).amount).toBe("0.2033216");
  });

  it("charges nothing, and says so, when the provider reports no tokens", () => {
    const { amount, derivation } = calculateCharge({ details, usage: { generated_images: 1 } });

    expect(amount).toBe("0");
    expect(derivation).toMatchObject({ unpriced: true });
  });
});

describe("rounding", () => {
  it("happens once, at the end, half up, if decimal_places is set", () => {
    const details = model_details["image-max"];
    const usage = { generated_images: 3 };

    // 0.225: rounding each image first would give 0.24.
    expect(calculateCharge({ details, usage }).amount).toBe("0.23");
    expect(calculateCharge({ details, usage }).derivation).toMatchObject({
      exact: "0.225",
      decimal_places: 2,
    });
  });

  it("does not happen otherwise: no float is involved", () => {
    const details = { pricing_mode: "per-request", model_price: "0.1" } as const;

    expect(calculateCharge({ details, usage: { generated_images: 3 } }).amount).toBe("0.3");
  });
});

it("refuses an invalid price", () => {
  const details = { pricing_mode: "per-request", model_price: "-0.04" } as const;

  expect(() => calculateCharge({ details, usage: undefined })).toThrow(RangeError);
});
