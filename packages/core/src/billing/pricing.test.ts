import { describe, expect, it } from "vitest";
import type { ModelDetails } from "./model-details.js";
import { createPriceList } from "./pricing.js";

const details = (model_price: string): ModelDetails => ({ pricing_mode: "per-request", model_price });

const prices = createPriceList({
  model_details: {
    "image-2.0*": details("1"),
    "image-2.0-pro*": details("2"),
    "image-2.0-pro-max": details("3"),
    "seedream-4-0": details("4"),
  },
  group_ratio: { default: "1", vip: "0.5", constructor: "0" },
});

describe("createPriceList", () => {
  it.each([
    ["image-2.0", "default", "1"],
    ["image-2.0-lite", "default", "1"],
    ["image-2.0-pro", "default", "2"],
    ["image-2.0-pro-max", "default", "3"],
    ["image-2.0-pro-max-2", "default", "2"],
    ["seedream-4-0", "vip", "2"],
    ["seedream-4-0", "constructor", "0"],
  ])("charges %s of group %s: %s", (model, group, amount) => {
    expect(prices.find(model, group).charge({ usage: { generated_images: 1 } }).amount).toBe(amount);
  });

  it("estimates a request by the same price and ratio as it charges it", () => {
    const price = prices.find("seedream-4-0", "vip");
    expect(price.estimate({ maxImages: 3 }).amount).toBe("6");
    expect(price.charge({ usage: { generated_images: 3 } }).amount).toBe("6");
  });

  it.each(["image-1.0", "seedream-4-0-250828", "toString", "__proto__", ""])(
    "refuses the model %j without a price",
    (model) => {
      expect(() => prices.find(model, "default")).toThrow(
        expect.objectContaining({ code: "model_not_priced", status: 403 }),
      );
    },
  );

  it.each(["guests", "toString", "__proto__", ""])("refuses the group %j without a ratio", (group) => {
    expect(() => prices.find("image-2.0", group)).toThrow(
      expect.objectContaining({ code: "group_not_priced", status: 403 }),
    );
  });

  it("knows the group default alone, at 1, where no ratios are given", () => {
    const list = createPriceList({ model_details: { a: details("7") } });
    expect(list.find("a", "default").charge({ usage: undefined }).amount).toBe("7");
    expect(() => list.find("a", "vip")).toThrow("vip");
  });
});
