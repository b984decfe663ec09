import { describe, expect, it } from "vitest";
import { covers, createSeriesMap, includesName, isSeries, overlaps } from "./series.js";

describe("createSeriesMap", () => {
  const table = createSeriesMap({
    "image-2.0*": "series",
    "image-2.0-pro*": "longer series",
    "image-2.0-pro-x": "exact",
    "*": "anything",
  });

  it.each([
    ["image-2.0-pro-x", "image-2.0-pro-x", "exact", ""],
    ["image-2.0-pro-y", "image-2.0-pro*", "longer series", "-y"],
    ["image-2.0-pro", "image-2.0-pro*", "longer series", ""],
    ["image-2.0", "image-2.0*", "series", ""],
    ["image-2.0-lite", "image-2.0*", "series", "-lite"],
    ["image-2", "*", "anything", "image-2"],
    ["__proto__", "*", "anything", "__proto__"],
    ["image-2.0*", "image-2.0*", "series", "*"],
  ])("finds %s under %s as %s with the rest %j", (name, key, value, rest) => {
    expect(table.find(name)).toEqual({ key, value, rest });
  });

  it.each(["other", "constructor", "__proto__", "toString", ""])(
    "finds nothing for %j in a table without it",
    (name) => {
      expect(createSeriesMap({ "image-*": 1, image: 2 }).find(name)).toBeUndefined();
    },
  );

  it("does not depend on the order of the entries", () => {
    expect(createSeriesMap({ "a-b*": 2, "a*": 1 }).find("a-bc")?.value).toBe(2);
    expect(createSeriesMap({ "a*": 1, "a-b*": 2 }).find("a-bc")?.value).toBe(2);
  });
});

describe("isSeries", () => {
  it.each([
    ["image-edit*", true],
    ["*", true],
    ["image-edit", false],
    ["image*edit", false],
    ["", false],
  ])("%j → %s", (name, expected) => {
    expect(isSeries(name)).toBe(expected);
  });
});

describe("covers", () => {
  it.each([
    ["image-*", "image-edit*", true],
    ["image-*", "image-edit", true],
    ["image-*", "image-*", true],
    ["image-*", "image-", true],
    ["*", "a*", true],
    ["*", "a", true],
    ["a", "a", true],
    ["image-edit*", "image-*", false],
    ["image-edit", "image-edit*", false],
    ["image-", "image-*", false],
    ["a**", "a*", false],
    ["a", "b", false],
  ])("%s all of %s: %s", (outer, inner, expected) => {
    expect(covers(outer, inner)).toBe(expected);
  });
});

describe("overlaps", () => {
  it.each([
    ["image-edit*", "image-*", true],
    ["image-edit*", "image-edit-plus", true],
    ["image-edit*", "image-edit", true],
    ["image-edit*", "*", true],
    ["image-edit", "image-edit", true],
    ["image-edit*", "image-2*", false],
    ["image-edit*", "image-edi", false],
    ["image-edit", "image-edit-plus", false],
  ])("%s and %s: %s, either way round", (keyA, keyB, expected) => {
    expect(overlaps(keyA, keyB)).toBe(expected);
    expect(overlaps(keyB, keyA)).toBe(expected);
  });
});

describe("includesName", () => {
  it.each([
    [["image-edit*"], "image-edit-plus", true],
    [["image-edit*"], "image-edi", false],
    [["a", "b"], "b", true],
    [["a", "b"], "c", false],
    [["image-edit"], "image-edit-plus", false],
    [[], "a", false],
  ])("%j holds %s: %s", (names, name, expected) => {
    expect(includesName(names, name)).toBe(expected);
  });
});
