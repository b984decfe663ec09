import type { ModelRow } from "../capabilities.js";

const SOURCE = "OpenAI's guide of image generation and the `openai` package 7.57.0";

const FIXED_SIZES = {
  list: [
    [1024, 1024],
    [1536, 1024],
    [1024, 1536],
  ],
} as const;

/**
 * The guide says multiples of 16, ratios up to 3:1 and at most 3840x2160. That the longer side may be the height is
 * second-hand (xairouter.com). The least size is not published: here it is the smallest one with such sides.
 */
const FREE_SIZES = {
  side: { min: 16, max: 3840 },
  totalPixels: { min: 256, max: 8_294_400 },
  maxAspectRatio: 3,
  multipleOf: 16,
};

/**
 * The most output tokens of one image of up to 1,572,864 pixels, by quality. OpenAI publishes no formula.
 *
 * - `gpt-image-2`: the most tokens whose price rounds to the published one ($0.006, 0.053 and 0.211 at $30 per million).
 * - 2.5: `low` is about 196 (documentation of Comfy). `xhigh` and `max` are not published: 1.5 and 2 times `high`.
 * - 2.6: `low` and `medium` use three to four times as many as 2.5, `high` the same (measured by laozhang).
 * - `gpt-image-1.5` and `-1-mini`: the published tokens of `gpt-image-1`, of its dearest size.
 */
const TOKENS_2 = { low: 216, medium: 1_783, high: 7_050 };
const TOKENS_2_5 = { ...TOKENS_2, xhigh: 10_575, max: 14_100 };
const TOKENS_2_6 = { ...TOKENS_2_5, low: 864, medium: 7_132 };
const TOKENS_1 = { low: 408, medium: 1_584, high: 6_240 };

/**
 * An input image has 65 tokens and 129 for each tile of 512 pixels (the guide of `gpt-image-1`), and with the high fidelity
 * 4,160 or 6,240 more. The models from 2 on always work with high fidelity. Of a long image there may be 16 tiles.
 */
const REFERENCE_TOKENS = { low: 2_200, high: 8_440 };

const COMMON = {
  source: SOURCE,
  checked: "2026-11",
  references: { max: 16 },
  imagesPerCall: 10,
  streaming: true,
  background: { values: ["auto", "transparent", "opaque"] },
  outputFormats: ["png", "jpeg", "webp"],
};

/** OpenAI's models. Only data: `request.ts` applies it. Models that were shut down have no row. */
export const OPENAI_MODELS: readonly ModelRow[] = [
  {
    ...COMMON,
    names: ["gpt-image-2.6-sunburst", "gpt-image-2.6-flare"],
    released: "2026-11-04",
    size: FREE_SIZES,
    outputFormats: ["png", "jpeg", "webp", "gif", "svg"],
    qualities: ["low", "medium", "high", "xhigh", "max"],
    outputTokens: TOKENS_2_6,
    referenceTokens: REFERENCE_TOKENS.high,
    note: "Accepts `complexity`, `markup` and `svg`. GIF and SVG need access to a preview.",
  },
  {
    ...COMMON,
    names: ["gpt-image-2.5-sunburst", "gpt-image-2.5-flare"],
    upstreamNames: [
      "gpt-image-2.5-sunburst",
      "gpt-image-2.5-sunburst-2026-09-08",
      "gpt-image-2.5-flare",
      "gpt-image-2.5-flare-2026-09-08",
    ],
    released: "2026-09-08",
    size: FREE_SIZES,
    qualities: ["low", "medium", "high", "xhigh", "max"],
    outputTokens: TOKENS_2_5,
    referenceTokens: REFERENCE_TOKENS.high,
    note: "Accepts `markup`.",
  },
  {
    ...COMMON,
    names: ["gpt-image-2"],
    upstreamNames: ["gpt-image-2", "gpt-image-2-2026-04-21"],
    released: "2026-04-21",
    size: FREE_SIZES,
    qualities: ["low", "medium", "high"],
    outputTokens: TOKENS_2,
    referenceTokens: REFERENCE_TOKENS.high,
    note: "Refuses `input_fidelity`. A transparent background is a preview.",
  },
  {
    ...COMMON,
    names: ["gpt-image-1.5", "chatgpt-image-latest"],
    size: FIXED_SIZES,
    qualities: ["low", "medium", "high"],
    outputTokens: TOKENS_1,
    referenceTokens: REFERENCE_TOKENS.high,
    note: "OpenAI shuts it down on 2026-12-01. Accepts `input_fidelity`: `low` or `high`.",
  },
  {
    ...COMMON,
    names: ["gpt-image-1-mini"],
    size: FIXED_SIZES,
    qualities: ["low", "medium", "high"],
    outputTokens: TOKENS_1,
    referenceTokens: REFERENCE_TOKENS.low,
    note: "OpenAI shuts it down on 2026-12-01. Accepts `input_fidelity`: `low` only.",
  },
];

const OTHER_SOURCE = "the services' own references";

/** The sizes of Recraft's models of 1K. Those of the Pro models are twice as wide and high. */
const RECRAFT_SIZES = [
  [1024, 1024],
  [1536, 768],
  [768, 1536],
  [1280, 832],
  [832, 1280],
  [1216, 896],
  [896, 1216],
  [1152, 896],
  [896, 1152],
  [832, 1344],
  [1280, 896],
  [896, 1280],
  [1344, 768],
  [768, 1344],
] as const;

/** The sizes of Ideogram 4.5 without reference images, of 1K and of 2K. */
const IDEOGRAM_SIZES = [
  [1024, 1024],
  [896, 1120],
  [1120, 896],
  [864, 1152],
  [1152, 864],
  [832, 1248],
  [1248, 832],
  [720, 1280],
  [1280, 720],
  [800, 1280],
  [1280, 800],
  [720, 1440],
  [1440, 720],
  [512, 1536],
  [1536, 512],
  [2048, 2048],
  [1792, 2240],
  [2240, 1792],
  [1728, 2304],
  [2304, 1728],
  [1664, 2496],
  [2496, 1664],
  [1440, 2560],
  [2560, 1440],
  [1600, 2560],
  [2560, 1600],
  [1440, 2880],
  [2880, 1440],
  [1024, 3072],
  [3072, 1024],
] as const;

/** What all of Recraft's models have in common. */
const RECRAFT = {
  source: OTHER_SOURCE,
  checked: "2026-11",
  references: { max: 1 },
  imagesPerCall: 6,
  streaming: false,
} as const;

/** Microsoft's models. An image has a token for each 1,024 pixels (fal.ai); the bounds are for the largest one. */
const MAI = {
  source: OTHER_SOURCE,
  checked: "2026-11",
  imagesPerCall: 1,
  streaming: false,
  outputTokens: { default: 2_304 },
  referenceTokens: 4_096,
} as const;
const MAI_TOKENS = "Second-hand: the tokens.";

/**
 * Models that only one of the services with a dialect serves. Open models, such as `Qwen/Qwen-Image`, have no row, because
 * each service has its own limits for them.
 */
export const OTHER_MODELS: readonly ModelRow[] = [
  {
    names: ["grok-imagine-image", "grok-imagine-image-quality", "grok-imagine-image-2.0"],
    source: OTHER_SOURCE,
    checked: "2026-11",
    references: { max: 4 },
    imagesPerCall: 10,
    streaming: false,
    qualities: ["low", "medium", "high"],
    note: "xAI. A size becomes `aspect_ratio` and `resolution`.",
  },
  {
    names: ["glm-image"],
    source: OTHER_SOURCE,
    checked: "2026-11",
    size: {
      side: { min: 1024, max: 2048 },
      totalPixels: { min: 1024 * 1024, max: 2 ** 22 },
      multipleOf: 32,
    },
    references: { max: 0 },
    imagesPerCall: 1,
    streaming: false,
    qualities: ["hd"],
    note: "Zhipu. The default size is 1280x1280. Has a watermark unless `watermark_enabled` is `false`.",
  },
  {
    names: ["cogview-4", "cogview-4-250304", "cogview-3-flash"],
    source: OTHER_SOURCE,
    checked: "2026-11",
    size: { side: { min: 512, max: 2048 }, totalPixels: { min: 512 * 512, max: 2 ** 21 }, multipleOf: 16 },
    references: { max: 0 },
    imagesPerCall: 1,
    streaming: false,
    qualities: ["hd", "standard"],
    note: "Zhipu. Has a watermark unless `watermark_enabled` is `false`.",
  },
  {
    names: ["MiniMax-H3-Image", "MiniMax-H3-Image-Highspeed"],
    source: OTHER_SOURCE,
    checked: "2026-11",
    released: "2026-11-10",
    size: { totalPixels: { min: 655_360, max: 20_000_000 }, maxAspectRatio: 3 },
    references: { max: 16 },
    imagesPerCall: 10,
    streaming: false,
    outputFormats: ["png", "jpeg", "jpg", "webp"],
    outputTokens: { default: 24_000 },
    note:
      "MiniMax. Without a size, `aspect_ratio` and `area` (`1K`, `2K`, `4K`) decide; `area` is `4K` by default. Second-hand: the " +
      "bound of tokens.",
  },
  {
    ...RECRAFT,
    names: [
      "recraftv4_1",
      "recraftv4_1_utility",
      "recraftv4_1_flash",
      "recraftv4_1_flash_v2",
      "recraftv4",
      "recraftv4_styles",
    ],
    size: { list: RECRAFT_SIZES },
    note: "Recraft. Takes ratios too, if a row of yours has no `size`. `recraftv4_styles` needs `style_id`. Second-hand: that the flash models take an image.",
  },
  {
    ...RECRAFT,
    names: ["recraftv4_1_pro", "recraftv4_1_utility_pro", "recraftv4_pro", "recraftv4_styles_pro"],
    size: { list: RECRAFT_SIZES.map(([width, height]) => [2 * width, 2 * height] as const) },
    note: "Recraft. `recraftv4_styles_pro` needs `style_id`.",
  },
  {
    ...RECRAFT,
    names: [
      "recraftv4_1_vector",
      "recraftv4_1_pro_vector",
      "recraftv4_1_utility_vector",
      "recraftv4_1_utility_pro_vector",
      "recraftv4_vector",
      "recraftv4_pro_vector",
    ],
    note: "Recraft. Makes SVG.",
  },
  {
    ...MAI,
    names: ["MAI-Image-2.7", "MAI-Image-2.7-Flash"],
    released: "2026-11-17",
    size: { side: { min: 768, max: 5_461 }, totalPixels: { min: 589_824, max: 4_194_304 } },
    references: { max: 5 },
    background: { values: ["auto", "transparent", "opaque"] },
    note: `Microsoft. Second-hand: the transparent background, and the size of an edit. ${MAI_TOKENS}`,
  },
  {
    ...MAI,
    names: ["MAI-Image-2.6", "MAI-Image-2.6-Flash"],
    released: "2026-09-04",
    size: { side: { min: 768, max: 3_072 }, totalPixels: { min: 589_824, max: 2_359_296 } },
    references: { max: 5 },
    note: `Microsoft. Second-hand: the size of an edit. ${MAI_TOKENS}`,
  },
  {
    ...MAI,
    names: ["MAI-Image-2.5", "MAI-Image-2.5-Flash"],
    released: "2026-06-02",
    size: { side: { min: 768, max: 1_365 }, totalPixels: { min: 589_824, max: 1_048_576 } },
    references: { max: 1 },
    note: `Microsoft. ${MAI_TOKENS}`,
  },
  {
    ...MAI,
    names: ["MAI-Image-2", "MAI-Image-2e"],
    size: { side: { min: 768, max: 1_365 }, totalPixels: { min: 589_824, max: 1_048_576 } },
    references: { max: 0 },
    note: `Microsoft. ${MAI_TOKENS}`,
  },
  {
    names: ["ideogram-4-5"],
    source: OTHER_SOURCE,
    checked: "2026-11",
    released: "2026-09-30",
    size: { list: IDEOGRAM_SIZES },
    references: { max: 5 },
    imagesPerCall: 8,
    streaming: false,
    qualities: ["very_low", "low", "medium", "high"],
    note: "Ideogram. `very_low` needs a reference image. Without a quality, an edit is `medium` and everything else `high`. Second-hand: the number of images.",
  },
  {
    names: ["hy-image-v3"],
    source: OTHER_SOURCE,
    checked: "2026-11",
    size: { side: { min: 512, max: 2048 }, totalPixels: { min: 262_144, max: 1_048_576 } },
    references: { max: 3 },
    imagesPerCall: 1,
    streaming: false,
    note: "Tencent TokenHub: Hunyuan Image 3.0. Accepts `revise`, which rewrites the prompt, and `footnote`, a text in the image.",
  },
];
