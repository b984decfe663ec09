import { describe, expect, it } from "vitest";
import type { Capabilities } from "../family.js";
import { countMaxPixels, findSeedreamCapabilities } from "./capabilities.js";
import { normalizeNative, normalizeSeedream } from "./request.js";

const VERSION_4_0 = findSeedreamCapabilities("seedream-4-0-250828");
const VERSION_4_5 = findSeedreamCapabilities("seedream-4-5-251128");
const VERSION_5_0 = findSeedreamCapabilities("seedream-5-0-lite-260128");
const VERSION_5_5 = findSeedreamCapabilities("seedream-5-5-261028");
const MOST = 4096 * 4096;

describe("the most pixels of an image", () => {
  it.each<[unknown, string, Capabilities | undefined, number | undefined]>([
    ["2048x2048", "4.5", VERSION_4_5, 2048 * 2048],
    ["3750x1250", "4.5", VERSION_4_5, 3750 * 1250],
    ["640x480", "no row", undefined, 640 * 480],
    ["640x480", "a row without sizes", { size: "none" }, 640 * 480],
    ["999999x999999", "no row", undefined, 999_999 ** 2],
    ["1K", "4.0", VERSION_4_0, 1024 * 1024],
    ["2K", "4.0", VERSION_4_0, 2848 * 1600],
    ["2k", "4.5", VERSION_4_5, 2848 * 1600],
    ["3K", "5.0", VERSION_5_0, 4704 * 2016],
    ["4K", "5.0", VERSION_5_0, MOST],
    ["1K", "5.5", VERSION_5_5, 1024 * 1024],
    ["1.5K", "5.5", VERSION_5_5, 2848 * 1600],
    ["1.5k", "5.5", VERSION_5_5, 2848 * 1600],
    ["2K", "5.5", VERSION_5_5, 2848 * 1600],
    ["auto", "5.5", VERSION_5_5, 4_624_220],
    ["3K", "4.5, which has no such preset", VERSION_4_5, MOST],
    ["2K", "no row", undefined, undefined],
    ["2K", "a row without sizes", { size: "none" }, undefined],
    ["2K", "a row of its own", { size: { presets: ["2k"] } }, 2848 * 1600],
    ["S", "a row with a preset of its own", { size: { presets: ["S"] } }, undefined],
    ["S", "such a row with pixels", { size: { presets: ["S"], totalPixels: { min: 1, max: 9 } } }, 9],
    [undefined, "4.5", VERSION_4_5, MOST],
    [undefined, "no row", undefined, undefined],
    [undefined, "a row without rules for sizes", { imagesPerCall: 2 }, undefined],
    ["auto", "4.5", VERSION_4_5, MOST],
    ["0x5", "4.5", VERSION_4_5, MOST],
    ["05x5", "4.5", VERSION_4_5, MOST],
    ["1X1", "4.5", VERSION_4_5, MOST],
    ["1x1 ", "4.5", VERSION_4_5, MOST],
    ["1x1\n", "4.5", VERSION_4_5, MOST],
    ["9".repeat(400), "4.5", VERSION_4_5, MOST],
    ["constructor", "4.5", VERSION_4_5, MOST],
    [null, "4.5", VERSION_4_5, MOST],
    [1024, "4.5", VERSION_4_5, MOST],
    [["1x1"], "4.5", VERSION_4_5, MOST],
  ])("of size %j with %s are known", (size, _row, limits, expected) => {
    expect(countMaxPixels(size, limits)).toBe(expected);
  });

  it("stand in the request of either endpoint", () => {
    const context = { model: "m", capabilities: VERSION_4_5, defaultResponseFormat: undefined };
    const fields = { prompt: "a fox", size: "2K" };
    expect(normalizeSeedream(fields, { ...context, operation: "generate" }).maxPixels).toBe(2848 * 1600);
    expect(normalizeNative(fields, { ...context, operation: "native" }).maxPixels).toBe(2848 * 1600);
  });
});
