import { describe, expect, it } from "vitest";
import { createSpeller, foldCase } from "./resolve-model.js";

describe("the configured spelling of a name", () => {
  const KEYS = [
    "image-2.0*",
    "image-2.0-pro*",
    "image-Max",
    "Poster*",
    "poster-x",
    "twin",
    "TWIN",
    "a*",
    "A*",
  ];
  it.each([
    ["image-max", "image-Max"],
    ["IMAGE-MAX", "image-Max"],
    ["image-Max", "image-Max"],
    ["image-2.0", "image-2.0"],
    ["IMAGE-2.0", "image-2.0"],
    ["image-2.0-PRO", "image-2.0-pro"],
    ["image-2.0-PRO-2026", "image-2.0-pro-2026"],
    ["image-2.0-PLUS", "image-2.0-PLUS"],
    ["poster-Y", "Poster-Y"],
    ["POSTER-X", "poster-x"],
    ["twin", "twin"],
    ["TWIN", "TWIN"],
    ["ab", "ab"],
    ["Ab", "Ab"],
    ["unknown", "unknown"],
    ["__proto__", "__proto__"],
    ["", ""],
  ])("of %s is %s", (name, expected) => {
    expect(createSpeller(KEYS)(name)).toBe(expected);
  });

  it("changes only A to Z, so that no name changes its length", () => {
    expect(foldCase("ÄİK-É")).toBe("Äİk-É");
  });
});
