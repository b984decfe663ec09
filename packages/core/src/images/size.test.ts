import { describe, expect, it } from "vitest";
import { checkSize, type SizeLimits } from "./size.js";

const isTaken = (size: string, limits: SizeLimits, separator: "x" | "*" = "x"): boolean => {
  try {
    checkSize(size, limits, { separator, param: "size" });
    return true;
  } catch {
    return false;
  }
};

const STYLE = { separator: "x", param: "size" } as const;

describe("checkSize", () => {
  const pixels = { totalPixels: { min: 100, max: 10_000 } };

  it.each<[string, SizeLimits, "x" | "*", boolean]>([
    ["1x1", {}, "x", true],
    ["999999x999999", {}, "x", true],
    ["1000000x1", {}, "x", false],
    ["1*1", {}, "x", false],
    ["1*1", {}, "*", true],
    ["1x1", {}, "*", false],
    ["1X1", {}, "x", false],
    ["0x1", {}, "x", false],
    ["01x1", {}, "x", false],
    ["+1x1", {}, "x", false],
    ["-1x-1", {}, "x", false],
    ["1.5x1", {}, "x", false],
    ["1e3x1", {}, "x", false],
    [" 1x1", {}, "x", false],
    ["1x1\n", {}, "x", false],
    ["1x1x1", {}, "x", false],
    ["1x", {}, "x", false],
    ["x", {}, "x", false],
    ["", {}, "x", false],
    ["１x１", {}, "x", false],
    ["2K", { presets: ["2K"] }, "x", true],
    ["2k", { presets: ["2K"] }, "x", true],
    ["4K", { presets: ["2K"] }, "x", false],
    ["64x64", { presets: ["1K"] }, "x", false],
    ["64*64", { presets: ["1K"] }, "*", false],
    ["10x10", { presets: ["1K"], ...pixels }, "x", true],
    ["9x9", { presets: ["1K"], ...pixels }, "x", false],
    ["16x9", { presets: ["1K"], list: [[16, 9]] }, "x", true],
    ["64x64", { presets: ["1K"], side: { min: 1, max: 64 } }, "x", true],
    ["64x64", { presets: ["1K"], maxAspectRatio: 2 }, "x", true],
    ["10x10", pixels, "x", true],
    ["9x11", pixels, "x", false],
    ["100x100", pixels, "x", true],
    ["101x100", pixels, "x", false],
    ["16x1", { maxAspectRatio: 16 }, "x", true],
    ["1x16", { maxAspectRatio: 16 }, "x", true],
    ["17x1", { maxAspectRatio: 16 }, "x", false],
    ["1601x100", { maxAspectRatio: 16 }, "x", false],
    ["512*2048", { side: { min: 512, max: 2048 } }, "*", true],
    ["511*1024", { side: { min: 512, max: 2048 } }, "*", false],
    ["1024*2049", { side: { min: 512, max: 2048 } }, "*", false],
    ["928*1664", { list: [[928, 1664]] }, "*", true],
    ["1664*928", { list: [[928, 1664]] }, "*", false],
    ["1x1", { list: [] }, "x", false],
  ])("%j against %j with %s: %s", (size, limits, separator, expected) => {
    expect(isTaken(size, limits, separator)).toBe(expected);
  });

  it("allows only multiples, if there is such a rule", () => {
    const limits: SizeLimits = { multipleOf: 16 };
    expect(() => checkSize("1536x1024", limits, STYLE)).not.toThrow();
    for (const size of ["1500x1500", "1024x1000", "1000x1024", "2K"]) {
      expect(() => checkSize(size, limits, STYLE)).toThrow(
        "<width>x<height> with sides that are multiples of 16",
      );
    }
  });

  it.each<[SizeLimits, "x" | "*", string]>([
    [
      { presets: ["2K", "4K"], totalPixels: { min: 1, max: 9 }, maxAspectRatio: 16 },
      "x",
      "2K, or 4K, or <width>x<height> with 1 to 9 pixels in all and an aspect ratio between 1:16 and 16:1",
    ],
    [
      {
        list: [
          [1664, 928],
          [928, 1664],
        ],
      },
      "*",
      "1664*928, or 928*1664",
    ],
    [{ side: { min: 512, max: 2048 } }, "*", "<width>*<height> with sides of 512 to 2048 pixels"],
    [{ presets: ["1K", "2K"] }, "x", "1K, or 2K"],
    [{}, "*", "<width>*<height>"],
  ])("lists what %j allows", (limits, separator, list) => {
    expect(() => checkSize("huge", limits, { separator, param: "size" })).toThrow(
      expect.objectContaining({
        status: 400,
        param: "size",
        message: `size "huge" is not supported by this model: send ${list}.`,
      }),
    );
  });

  it("quotes only the beginning of a long size", () => {
    expect(() => checkSize("9".repeat(1_000_000), {}, { separator: "x", param: "size" })).toThrow(
      /^.{0,120}$/,
    );
  });
});
