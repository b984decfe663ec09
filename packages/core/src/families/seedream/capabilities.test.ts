import { describe, expect, it } from "vitest";
import type { Capabilities } from "../capabilities.js";
import { countMaxPixels, countMaxTokens, findSeedreamCapabilities } from "./capabilities.js";
import { SEEDREAM_MODELS } from "./models.js";
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
    const bounds = { maxPixels: 2848 * 1600, maxTokensPerImage: 17_800 };
    expect(normalizeSeedream(fields, { ...context, operation: "generate" })).toMatchObject(bounds);
    expect(normalizeNative(fields, { ...context, operation: "native" })).toMatchObject(bounds);
  });

  it.each([
    [2048 * 2048, 16_384],
    [257, 2],
    [undefined, 65_536],
  ])("of %s bound the tokens of an image to %i", (pixels, tokens) => {
    expect(countMaxTokens(pixels)).toBe(tokens);
  });
});

/** The sizes that Ark's reference lists for each preset (November 2026). */
const SIZES_OF_PRESETS: Readonly<Record<string, string>> = {
  "1K": "1024x1024 1152x864 864x1152 1280x720 720x1280 1248x832 832x1248 1512x648",
  "2K": "2048x2048 2304x1728 1728x2304 2848x1600 1600x2848 2496x1664 1664x2496 3136x1344",
  "3K": "3072x3072 3456x2592 2592x3456 4096x2304 2304x4096 3744x2496 2496x3744 4704x2016",
  "4K": "4096x4096 4704x3520 3520x4704 5504x3040 3040x5504 4992x3328 3328x4992 6240x2656",
};

describe.each(SEEDREAM_MODELS.map((row) => [row.names[0], row] as const))("the hold of %s", (_name, row) => {
  const { presets = [] } = row.size === "none" ? {} : (row.size ?? {});

  it.each(presets)("covers every image that %s can mean", (preset) => {
    const most = countMaxPixels(preset, row) ?? 0;
    // Of 1.5K no sizes are listed: it is smaller than 2K.
    const sizes = (SIZES_OF_PRESETS[preset] ?? SIZES_OF_PRESETS["2K"] ?? "").split(" ");
    for (const size of sizes) expect(most).toBeGreaterThanOrEqual(countMaxPixels(size, row) ?? 0);
  });
});
