import { describe, expect, it } from "vitest";
import { findNearestRatio, findNearestSize } from "./nearest-size.js";
import type { SizeLimits } from "./size.js";
import { isAllowedSize, parsePixels } from "./size.js";

const SEEDREAM_4_5: SizeLimits = {
  presets: ["2K", "4K"],
  totalPixels: { min: 3_686_400, max: 16_777_216 },
  maxAspectRatio: 16,
};
const SEEDREAM_PRO: SizeLimits = {
  presets: ["1K", "1.5K", "2K"],
  totalPixels: { min: 921_600, max: 4_624_220 },
  maxAspectRatio: 16,
};
const QWEN_2_0: SizeLimits = { totalPixels: { min: 512 * 512, max: 2048 * 2048 } };
const QWEN_EDIT: SizeLimits = { side: { min: 512, max: 2048 } };
const FIVE: SizeLimits = {
  list: [
    [1664, 928],
    [1472, 1104],
    [1328, 1328],
    [1104, 1472],
    [928, 1664],
  ],
};
/** The rules of gpt-image-2 (November 2026). */
const MULTIPLES: SizeLimits = {
  totalPixels: { min: 1, max: 8_294_400 },
  side: { min: 16, max: 3840 },
  maxAspectRatio: 3,
  multipleOf: 16,
};
const PRESETS: SizeLimits = { presets: ["1K", "1.5K", "2K", "auto"] };

const near = (limits: SizeLimits, size: string, resolution?: string): string | undefined =>
  findNearestSize({ size, resolution }, limits);

describe("the nearest size", () => {
  it.each<[string, SizeLimits, string, string | undefined]>([
    ["an accepted size stays", SEEDREAM_4_5, "2048x2048", "2048x2048"],
    ["an accepted size in the other spelling", SEEDREAM_4_5, "2048*2048", "2048x2048"],
    ["capitals", SEEDREAM_4_5, "2048X2048", "2048x2048"],
    ["too few pixels, a square", SEEDREAM_4_5, "512x512", "1920x1920"],
    ["too few pixels, 1024x1024", SEEDREAM_4_5, "1024x1024", "1920x1920"],
    ["too few pixels keep 7:4", SEEDREAM_4_5, "1792x1024", "2541x1452"],
    ["too few pixels keep 4:7", SEEDREAM_4_5, "1024x1792", "1452x2541"],
    ["too few pixels keep 3:2", SEEDREAM_4_5, "1536x1024", "2352x1568"],
    ["too many pixels", SEEDREAM_PRO, "4096x4096", "2150x2150"],
    ["too many pixels keep 3:1", SEEDREAM_PRO, "6000x2000", "3723x1241"],
    ["no multiple of the ratio fits", SEEDREAM_PRO, "4099x4001", "2175x2123"],
    ["a ratio at the limit", SEEDREAM_4_5, "1600x100", "7680x480"],
    ["a ratio beyond the limit", SEEDREAM_4_5, "4000x100", "7680x480"],
    ["a ratio far beyond the limit, portrait", SEEDREAM_4_5, "1x999999", "480x7680"],
    ["a ratio beyond what the sides allow", QWEN_EDIT, "8000x100", "2048x512"],
    ["sides that are too short", QWEN_EDIT, "256x256", "512x512"],
    ["sides that are too short keep 2:1", QWEN_EDIT, "512x256", "1024x512"],
    ["one side that is too long", QWEN_EDIT, "4096x2048", "2048x1024"],
    ["no rule for the ratio", QWEN_2_0, "100x1", "5200x52"],
    ["a list: the nearest ratio", FIVE, "1792x1024", "1664x928"],
    ["a list: the nearest ratio, portrait", FIVE, "1024x1792", "928x1664"],
    ["a list: 3:2 is nearer to 4:3", FIVE, "1536x1024", "1472x1104"],
    ["a list: a square", FIVE, "512x512", "1328x1328"],
    ["a list: one of it", FIVE, "1104x1472", "1104x1472"],
    ["a list: 1:8", FIVE, "100x800", "928x1664"],
    [
      "a list: among equal ratios, the nearest pixels",
      {
        list: [
          [512, 512],
          [1024, 1024],
          [2048, 2048],
        ],
      },
      "900x900",
      "1024x1024",
    ],
    [
      "a list: the smaller of two that are equally near",
      {
        list: [
          [40, 10],
          [10, 40],
        ],
      },
      "20x20",
      "40x10",
    ],
    [
      "a list with other rules",
      {
        list: [
          [512, 512],
          [1024, 1024],
        ],
        totalPixels: { min: 1, max: 300_000 },
      },
      "1024x1024",
      "512x512",
    ],
    ["an empty list", { list: [] }, "1x1", undefined],
    ["presets alone: by pixels", PRESETS, "1024x1024", "1K"],
    ["presets alone: by pixels, large", PRESETS, "4096x4096", "2K"],
    ["presets alone: a ratio", PRESETS, "16:9", "2K"],
    ["a preset of the model", SEEDREAM_4_5, "4K", "4K"],
    ["a preset of the model in other letters", SEEDREAM_4_5, "4k", "4k"],
    ["a preset that names no pixels, and is the model's", PRESETS, "AUTO", undefined],
    ["a smaller preset", SEEDREAM_4_5, "1K", "2K"],
    ["a larger preset", SEEDREAM_PRO, "4k", "2K"],
    ["a preset between two: the nearer number of pixels", SEEDREAM_4_5, "3K", "2K"],
    ["a preset with a fraction", SEEDREAM_4_5, "1.5K", "2K"],
    ["a preset of a model without presets", QWEN_2_0, "1K", "1024x1024"],
    ["a preset above the limit of a model without presets", QWEN_2_0, "4K", "2048x2048"],
    ["a preset of a model with a list", FIVE, "2K", "1328x1328"],
    ["a ratio", SEEDREAM_4_5, "16:9", "2736x1539"],
    ["a ratio in other numbers", SEEDREAM_4_5, "32:18", "2736x1539"],
    ["a ratio with a fraction", SEEDREAM_4_5, "1.5:1", "2508x1672"],
    ["a ratio with a list", FIVE, "9:16", "928x1664"],
    ["a ratio without limits", {}, "1:1", "2048x2048"],
    ["a ratio beyond the limit, as a ratio", SEEDREAM_PRO, "99:1", "8192x512"],
    ["any size without limits", {}, "7x3", "7x3"],
    ["multiples: a size of another number", MULTIPLES, "1500x1500", "1504x1504"],
    ["multiples: a size that is one", MULTIPLES, "1504x1504", "1504x1504"],
    ["multiples: 16:9", MULTIPLES, "16:9", "2816x1584"],
    ["multiples: 16:9 in full HD", MULTIPLES, "1920x1080", "1792x1008"],
    ["multiples: a ratio beyond the limit", MULTIPLES, "5000x100", "1248x416"],
    ["multiples: too many pixels", MULTIPLES, "9000x9000", "2880x2880"],
    ["multiples: a preset", MULTIPLES, "1K", "1024x1024"],
    [
      "limits that no size fits",
      { totalPixels: { min: 100, max: 200 }, side: { min: 1, max: 5 } },
      "9x9",
      undefined,
    ],
  ])("%s", (_what, limits, size, expected) => {
    expect(near(limits, size)).toBe(expected);
  });

  it.each<[string, SizeLimits, string, string, string | undefined]>([
    ["a ratio with the pixels of a preset", SEEDREAM_PRO, "16:9", "1K", "1360x765"],
    ["a ratio with pixels", SEEDREAM_PRO, "16:9", "1024x1024", "1360x765"],
    ["a ratio with too few pixels", SEEDREAM_4_5, "1:1", "1K", "1920x1920"],
    ["a list", FIVE, "4:3", "4K", "1472x1104"],
    ["presets alone", PRESETS, "4:3", "1k", "1K"],
    ["a resolution that cannot be read", SEEDREAM_PRO, "16:9", "high", undefined],
  ])("with a resolution: %s", (_what, limits, size, resolution, expected) => {
    expect(near(limits, size, resolution)).toBe(expected);
  });

  it.each([
    "large",
    "",
    "x",
    "0x0",
    "-1x5",
    "1024x",
    "1024",
    "16:",
    ":9",
    "0:1",
    "16:9:4",
    "K",
    "0K",
    "2KB",
    "1024x1024x1",
    "1e3x1e3",
    "auto",
    "1000000x1",
    "½:1",
  ])("%j cannot be read", (size) => {
    for (const limits of [{}, SEEDREAM_4_5, FIVE, PRESETS]) expect(near(limits, size)).toBeUndefined();
  });
});

describe("a nearest size of multiples", () => {
  it("is always allowed by the rules", () => {
    for (let width = 1; width < 9_000; width += 97) {
      for (let height = 1; height < 9_000; height += 101) {
        const size = near(MULTIPLES, `${width}x${height}`) ?? "";
        const sides = parsePixels(size, "x");
        expect(sides !== undefined && isAllowedSize(sides, MULTIPLES), `${width}x${height}: ${size}`).toBe(
          true,
        );
      }
    }
  });
});

describe("the nearest aspect ratio", () => {
  const RATIOS = ["1:1", "2:3", "3:2", "9:16", "16:9", "21:9"];

  it.each([
    ["1024x1024", "1:1"],
    ["1920x1088", "16:9"],
    ["1024*1536", "2:3"],
    ["5000x100", "21:9"],
    ["4:3", "3:2"],
    ["2K", "1:1"],
    ["large", undefined],
  ])("of %s is %s", (size, ratio) => {
    expect(findNearestRatio(size, RATIOS)).toBe(ratio);
  });

  it("does not exist among ratios that cannot be read", () => {
    expect(findNearestRatio("1x1", ["auto"])).toBeUndefined();
  });
});
