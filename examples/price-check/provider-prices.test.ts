// Unit tests of prices by dimension: what one image, its layers and its references cost, and what is held for them.
import { calculateCharge, estimateCharge, type ModelDetails } from "@calotype/core/billing";
import { describe, expect, it } from "vitest";
import { ARK_CNY, BYTEPLUS_USD, DASHSCOPE_CNY } from "./provider-prices.ts";

const arkPro = ARK_CNY["seedream-5-0-pro-*"];
const byteplusPro = BYTEPLUS_USD["seedream-5-0-pro-*"];

describe("the price list of", () => {
  it.each<[string, ModelDetails, string, string]>([
    ["Ark, 5.0 Pro up to 2.61 million pixels", arkPro, "1600x1600", "0.3"],
    ["Ark, 5.0 Pro above", arkPro, "2048x2048", "0.6"],
    ["Ark, 5.0 Flash", ARK_CNY["seedream-5-0-flash-*"], "2048x2048", "0.12"],
    ["Ark, 5.0 lite", ARK_CNY["seedream-5-0-lite-*"], "4096x4096", "0.22"],
    ["Ark, 4.5", ARK_CNY["seedream-4-5-*"], "4096x4096", "0.25"],
    ["Ark, 4.0", ARK_CNY["seedream-4-0-*"], "1024x1024", "0.2"],
    ["BytePlus, 5.0 Pro up to 2,359,296 pixels", byteplusPro, "1536x1536", "0.045"],
    ["BytePlus, 5.0 Pro above", byteplusPro, "1536x1537", "0.09"],
    ["BytePlus, 5.0 Flash", BYTEPLUS_USD["seedream-5-0-flash-*"], "2048x2048", "0.018"],
    ["BytePlus, 5.0 lite", BYTEPLUS_USD["seedream-5-0-lite-*"], "4096x4096", "0.035"],
    ["BytePlus, 4.5", BYTEPLUS_USD["seedream-4-5-*"], "4096x4096", "0.04"],
    ["BytePlus, 4.0", BYTEPLUS_USD["seedream-4-0-*"], "1024x1024", "0.03"],
    ["DashScope, 2.0 Pro", DASHSCOPE_CNY["image-2.0-pro*"], "2048*2048", "0.5"],
    ["DashScope, 2.0", DASHSCOPE_CNY["image-2.0*"], "2048*2048", "0.2"],
    ["DashScope, Max", DASHSCOPE_CNY["image-max*"], "1328*1328", "0.5"],
    ["DashScope, Plus", DASHSCOPE_CNY["image-plus*"], "1328*1328", "0.2"],
    ["DashScope, Edit Max", DASHSCOPE_CNY["image-edit-max*"], "1024*1024", "0.5"],
    ["DashScope, Edit Plus", DASHSCOPE_CNY["image-edit-plus*"], "1024*1024", "0.2"],
    ["DashScope, Edit", DASHSCOPE_CNY["image-edit"], "1024*1024", "0.3"],
  ])("%s", (_what, details, size, price) => {
    const [width = 0, height = 0] = size.split(/[x*]/).map(Number);
    const request = { maxImages: 1, maxPixels: width * height };

    expect(calculateCharge({ details, usage: { generated_images: 1 }, images: [{ size }] }).amount).toBe(
      price,
    );
    expect(estimateCharge({ details, request }).amount).toBe(price);
  });
});

describe("a request to 5.0 Pro on BytePlus", () => {
  it.each([
    [1, "0.09"],
    [2, "0.093"],
    [10, "0.117"],
  ])("with %s reference images costs %s: the first is free", (reference_images, amount) => {
    const images = [{ size: "2048x2048" }];
    const usage = { generated_images: 1 };

    expect(calculateCharge({ details: byteplusPro, usage, images, reference_images }).amount).toBe(amount);
  });

  it("is held at the price of its largest size, if it names none", () => {
    const request = { maxImages: 1, maxPixels: 4_624_220, referenceImages: 10 };

    expect(estimateCharge({ details: byteplusPro, request }).amount).toBe("0.117");
  });
});

describe("a decomposition into layers by 5.0 Pro on Ark", () => {
  const base = { size: "2048x2048" };
  const layer = { size: "1024x1024", isLayer: true };
  const usage = { generated_images: 4 };

  it("costs the base image, and half of an image for each layer", () => {
    const { amount, derivation } = calculateCharge({
      details: arkPro,
      usage,
      images: [base, layer, layer, { ...base, isLayer: true }],
    });

    // 0.60 for the base image, twice 0.15 for a small layer, 0.30 for a large one.
    expect(amount).toBe("1.2");
    expect(derivation).toMatchObject({
      lines: [
        { what: "image", count: 1, unit_price: "0.6", amount: "0.6" },
        { what: "layer", count: 2, unit_price: "0.15", amount: "0.3" },
        { what: "layer", count: 1, unit_price: "0.3", amount: "0.3" },
      ],
    });
  });

  it("is held at 16 layers of the largest size", () => {
    const request = { maxImages: 17, maxLayers: 16, maxPixels: 4_624_220, referenceImages: 1 };

    expect(estimateCharge({ details: arkPro, request }).amount).toBe("5.4");
  });
});

describe("the lines of a charge", () => {
  it("add up to it, with the rounding as the last one", () => {
    const { amount, derivation } = calculateCharge({
      details: { ...byteplusPro, decimal_places: 2 },
      usage: { generated_images: 1 },
      images: [{ size: "1024x1024" }],
      reference_images: 3,
      group_ratio: "1.2",
    });

    expect(amount).toBe("0.06");
    expect(derivation).toMatchObject({
      lines: [
        { what: "image", count: 1, amount: "0.054" },
        { what: "reference_image", count: 2, amount: "0.0072" },
        { what: "rounding", amount: "-0.0012" },
      ],
      exact: "0.0612",
    });
  });
});
