import { describe, expect, it } from "vitest";
import type { ImagePrice } from "./model-details.js";
import { findTierProblems } from "./price-tiers.js";

const problemsOf = (tiers: readonly ImagePrice[]): readonly string[] =>
  findTierProblems(tiers).map(({ path, message }) => `[${path.join(".")}] ${message}`);

describe("a list of tiers", () => {
  it.each<[string, readonly ImagePrice[]]>([
    ["one price for every size", [{ price: "1" }]],
    [
      "tiers in ascending order",
      [{ up_to_pixels: 1, price: "1" }, { up_to_pixels: 2, price: "0" }, { price: "3" }],
    ],
    [
      "a list for each quality, in any order",
      [
        { quality: "low", up_to_pixels: 100, price: "1" },
        { quality: "high", price: "3" },
        { price: "4" },
        { quality: "low", price: "2" },
      ],
    ],
  ])("can be %s", (_what, tiers) => {
    expect(problemsOf(tiers)).toEqual([]);
  });

  it.each<[string, readonly ImagePrice[], readonly string[]]>([
    ["an empty one", [], ["[] must hold at least one price"]],
    [
      "one that ends",
      [{ up_to_pixels: 100, price: "1" }],
      ["[] needs a last tier without up_to_pixels: images above 100 pixels have no price"],
    ],
    [
      "one of a quality that ends",
      [{ price: "1" }, { quality: "high", up_to_pixels: 9, price: "1" }],
      ['[] needs a last tier of quality "high" without up_to_pixels: images above 9 pixels have no price'],
    ],
    [
      "the same tier twice",
      [{ up_to_pixels: 100, price: "1" }, { up_to_pixels: 100, price: "2" }, { price: "3" }],
      ["[1.up_to_pixels] must be above 100, where tier 0 ends"],
    ],
    [
      "descending tiers",
      [{ up_to_pixels: 200, price: "1" }, { up_to_pixels: 100, price: "2" }, { price: "3" }],
      ["[1.up_to_pixels] must be above 200, where tier 0 ends"],
    ],
    [
      "tiers after an open one",
      [{ price: "1" }, { up_to_pixels: 100, price: "2" }, { price: "3" }],
      [
        "[1] is never used: tier 0 has no up_to_pixels, so it covers every larger image",
        "[2] is never used: tier 0 has no up_to_pixels, so it covers every larger image",
      ],
    ],
  ])("cannot be %s", (_what, tiers, problems) => {
    expect(problemsOf(tiers)).toEqual(problems);
  });
});
