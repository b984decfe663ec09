import type { ModelRow } from "../capabilities.js";

const SOURCE =
  "the Gemini API's guide to image generation, and its models and prices as `@google/genai` 3.1.0 and " +
  "`Portkey-AI/models` state them";

/** The aspect ratios of all models, and of those that have four more. */
const RATIOS = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"] as const;
const EXTREME_RATIOS = ["1:4", "4:1", "1:8", "8:1"] as const;

/** The values of `aspectRatio`. */
export const ALL_RATIOS: readonly string[] = [...RATIOS, ...EXTREME_RATIOS];

/** The values of `imageSize`, in ascending order. Images without the field are 1K. */
export const TIERS = ["512", "1K", "2K", "4K"] as const;
export const DEFAULT_TIER = "1K";

type ImageSides = readonly [number, number];

/** The sizes of an image of 1K, by its ratio. Those of the other tiers are half, twice and four times as wide and high. */
const SIZES_1K: readonly ImageSides[] = [
  [1024, 1024],
  [848, 1264],
  [1264, 848],
  [896, 1200],
  [1200, 896],
  [928, 1152],
  [1152, 928],
  [768, 1376],
  [1376, 768],
  [1584, 672],
];
const EXTREME_SIZES_1K: readonly ImageSides[] = [
  [512, 2048],
  [2048, 512],
  [384, 3072],
  [3072, 384],
];
/** The sizes of `gemini-2.5-flash-image`, which has one tier. */
const SIZES_2_5: readonly ImageSides[] = [
  [1024, 1024],
  [832, 1248],
  [1248, 832],
  [864, 1184],
  [1184, 864],
  [896, 1152],
  [1152, 896],
  [768, 1344],
  [1344, 768],
  [1536, 672],
];

function scale(sizes: readonly ImageSides[], ...factors: readonly number[]): readonly ImageSides[] {
  return factors.flatMap((factor) =>
    sizes.map(([width, height]): ImageSides => [width * factor, height * factor]),
  );
}

/**
 * The most tokens of text and thoughts beside an image. No source states a bound besides the 32,768 output tokens of a
 * call; images with long thoughts have about 2,000.
 */
export const TEXT_TOKENS = 8_192;
/** An input image with the highest `mediaResolution` of Gemini 3. Without the field it has 1,120 tokens. */
const REFERENCE_TOKENS = 2_240;

/** What Google's flash models have in common. */
const FLASH = {
  source: SOURCE,
  checked: "2026-11",
  size: {
    presets: TIERS,
    list: [...scale(SIZES_1K, 1, 2, 4, 0.5), ...scale(EXTREME_SIZES_1K, 1, 2, 4, 0.5)],
  },
  references: { max: 14 },
  imagesPerCall: 1,
  outputTokens: { "512": 747, "1K": 1_120, "2K": 1_680, "4K": 2_520 },
  textTokens: TEXT_TOKENS,
  referenceTokens: REFERENCE_TOKENS,
} as const;

/** The models of the family. Only data: `size.ts` chooses the size, `request.ts` applies the rest. */
export const GEMINI_MODELS: readonly ModelRow[] = [
  {
    ...FLASH,
    names: ["gemini-nano-banana-2.1"],
    released: "2026-10-07",
    note:
      "Per million tokens: image output $30, text and thoughts $7.50, input $1.50. The tokens of 512, 2K and 4K are those of " +
      "`gemini-3.1-flash-image`; other sources say 400 for 512.",
  },
  {
    names: ["gemini-3-pro-image"],
    source: SOURCE,
    checked: "2026-11",
    note: "Per million tokens: image output $120, text and thoughts $12, input $2.",
    size: { presets: ["1K", "2K", "4K"], list: scale(SIZES_1K, 1, 2, 4) },
    references: { max: 14 },
    imagesPerCall: 1,
    outputTokens: { "1K": 1_120, "2K": 1_120, "4K": 2_000 },
    textTokens: TEXT_TOKENS,
    referenceTokens: REFERENCE_TOKENS,
  },
  {
    names: ["gemini-3.1-flash-lite-image"],
    source: SOURCE,
    checked: "2026-11",
    note: "Per million tokens: image output $30, text and thoughts $1.50, input $0.25. Refuses `imageSize`, which is not sent.",
    size: { list: [...SIZES_1K, ...EXTREME_SIZES_1K] },
    references: { max: 14 },
    imagesPerCall: 1,
    outputTokens: { "1K": 1_120 },
    textTokens: TEXT_TOKENS,
    referenceTokens: REFERENCE_TOKENS,
  },
  {
    ...FLASH,
    names: ["gemini-3.1-flash-image"],
    released: "2026-05-28",
    note:
      "Per million tokens: image output $60, text and thoughts $3, input $0.50. Deprecated since 2026-10-06, without a date of its " +
      "end (Google's changelog). Second-hand: that the Gemini API shut it down on 2026-10-29.",
  },
  {
    names: ["gemini-2.5-flash-image"],
    source: SOURCE,
    checked: "2026-11",
    note:
      "Per million tokens: image output $30, text $2.50, input $0.30. Second-hand: its end, 2026-10-02 or 2027-03-15. Has " +
      "no `imageSize`, and does not think.",
    size: { list: SIZES_2_5 },
    references: { max: 3 },
    imagesPerCall: 1,
    outputTokens: { "1K": 1_290 },
    textTokens: TEXT_TOKENS,
    referenceTokens: 4_128, // 258 for each tile of 768 × 768 pixels; the largest image has 16 tiles
  },
];
