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
    note: "Accepts `input_fidelity`: `low` or `high`.",
  },
  {
    ...COMMON,
    names: ["gpt-image-1-mini"],
    size: FIXED_SIZES,
    qualities: ["low", "medium", "high"],
    outputTokens: TOKENS_1,
    referenceTokens: REFERENCE_TOKENS.low,
    note: "Accepts `input_fidelity`: `low` only.",
  },
];

const OTHER_SOURCE = "the services' own references";

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
];
