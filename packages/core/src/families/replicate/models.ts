import type { ModelRow } from "../capabilities.js";
import { type ModelInput, type Tiers, toRatio, toSides } from "../fields/write-input.js";

const FLUX_RATIOS = "1:1 16:9 21:9 3:2 2:3 4:5 5:4 3:4 4:3 9:16 9:21".split(" ");
const RATIOS = "1:1 21:9 16:9 3:2 4:3 5:4 4:5 3:4 2:3 9:16".split(" ");
const TIERS: Tiers = [
  [1536 ** 2, "1K"],
  [3072 ** 2, "2K"],
  [Number.POSITIVE_INFINITY, "4K"],
];

/** With the ratio `custom`, the sides count. */
const toCustom = (size: string) => ({ aspect_ratio: "custom", ...toSides(size) });

/** Of a model that is not in the table: the names that most models have. */
export const USUAL_INPUT: ModelInput = {
  images: "image",
  mask: "mask",
  size: toRatio(FLUX_RATIOS),
  count: "num_outputs",
};

const COMMON = {
  source:
    "the schemas of the models on replicate.com and the packages `replicate` 1.4.0 and `@ai-sdk/replicate` 3.0.46",
  checked: "2026-11",
  imagesPerCall: 1,
  streaming: false,
};

const FORMATS = ["webp", "jpg", "png"];
const custom = (multipleOf: number) => ({ side: { min: 256, max: 2048 }, multipleOf });

const FLUX_1 = ["black-forest-labs/flux-dev", "black-forest-labs/flux-schnell"] as const;
const KONTEXT = ["black-forest-labs/flux-kontext-pro", "black-forest-labs/flux-kontext-max"] as const;
const GOOGLE = ["google/nano-banana-pro", "google/nano-banana-2"] as const;

/** Models on Replicate. Each has a schema of its own, which its page shows. */
export const REPLICATE_MODELS: readonly ModelRow[] = [
  {
    ...COMMON,
    names: ["black-forest-labs/flux-2-pro"],
    size: custom(16),
    references: { max: 8 },
    outputFormats: FORMATS,
  },
  {
    ...COMMON,
    names: ["black-forest-labs/flux-2-flex"],
    size: custom(32),
    references: { max: 10 },
    outputFormats: FORMATS,
  },
  {
    ...COMMON,
    names: ["black-forest-labs/flux-2-max"],
    size: custom(16),
    references: { max: 8 },
    outputFormats: FORMATS,
    note: "Second-hand: all of it, as `flux-2-pro`.",
  },
  {
    ...COMMON,
    names: FLUX_1,
    size: { maxAspectRatio: 2.34 },
    references: { max: 1 },
    imagesPerCall: 4,
    outputFormats: FORMATS,
    note: "A size becomes `aspect_ratio`. `flux-schnell` takes no reference image.",
  },
  {
    ...COMMON,
    names: KONTEXT,
    size: { maxAspectRatio: 2.34 },
    references: { max: 1 },
    outputFormats: ["jpg", "png"],
    note: "A size becomes `aspect_ratio`. Second-hand: the field `input_image`.",
  },
  {
    ...COMMON,
    names: ["bytedance/seedream-4.5"],
    size: { maxAspectRatio: 2.34 },
    references: { max: 14 },
    note: "A size becomes `aspect_ratio` and the tier `2K` or `4K`. Second-hand: the field `image_input` and the tiers.",
  },
  {
    ...COMMON,
    names: GOOGLE,
    size: { maxAspectRatio: 2.34 },
    references: { max: 14 },
    outputFormats: ["jpg", "png"],
    note: "A size becomes `aspect_ratio` and `resolution`. Second-hand: the field `image_input` and the tiers.",
  },
];

const ofEach = (names: readonly string[], input: ModelInput) => names.map((name) => [name, input] as const);

const FLUX_2_INPUT: ModelInput = { images: "input_images[]", size: toCustom };
const SEEDREAM_TIERS: Tiers = [
  [3072 ** 2, "2K"],
  [Number.POSITIVE_INFINITY, "4K"],
];

/** How the models of the table take what clients send. */
export const REPLICATE_INPUTS: ReadonlyMap<string, ModelInput> = new Map([
  ["black-forest-labs/flux-2-pro", FLUX_2_INPUT],
  ["black-forest-labs/flux-2-flex", FLUX_2_INPUT],
  ["black-forest-labs/flux-2-max", FLUX_2_INPUT],
  ["black-forest-labs/flux-dev", { images: "image", size: toRatio(FLUX_RATIOS), count: "num_outputs" }],
  ["black-forest-labs/flux-schnell", { size: toRatio(FLUX_RATIOS), count: "num_outputs" }],
  ...ofEach(KONTEXT, { images: "input_image", size: toRatio(FLUX_RATIOS) }),
  ["bytedance/seedream-4.5", { images: "image_input[]", size: toRatio(RATIOS, SEEDREAM_TIERS, "size") }],
  ...ofEach(GOOGLE, { images: "image_input[]", size: toRatio(RATIOS, TIERS) }),
]);
