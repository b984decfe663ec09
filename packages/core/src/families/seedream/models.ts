import type { ModelRow } from "../capabilities.js";

const SOURCE = "the image generation references of Volcengine Ark and BytePlus ModelArk";

const CHECKED = { source: SOURCE, checked: "2026-11", maxReferencesAndImages: 15 };

/** What models have in common that make one image per call. */
const ONE_IMAGE = {
  ...CHECKED,
  size: {
    presets: ["1K", "1.5K", "2K"],
    totalPixels: { min: 921_600, max: 4_624_220 },
    maxAspectRatio: 16,
  },
  references: { max: 10 },
  imagesPerCall: 1,
  streaming: false,
  sequentialImages: false,
  outputFormats: ["png", "jpeg"],
};
/** What models have in common that make several images per call. */
const SEQUENCES = {
  ...CHECKED,
  references: { max: 14 },
  imagesPerCall: 15,
  streaming: true,
  sequentialImages: true,
  layers: "none",
} as const;
const SIZES_WITH_LAYERS = ["1K", "1.5K", "2K", "auto"];
const BACKGROUNDS = ["auto", "transparent", "opaque"];

/** The models of the family. Only data: `capabilities.ts` finds the rows, `request.ts` applies them. */
export const SEEDREAM_MODELS: readonly ModelRow[] = [
  {
    ...ONE_IMAGE,
    names: ["seedream-5-5"],
    released: "2026-11-12",
    upstreamNames: ["doubao-seedream-5-5-261028", "dola-seedream-5-5-261028", "seedream-5-5-261028"],
    background: { values: BACKGROUNDS },
    layers: { max: 99, sizes: SIZES_WITH_LAYERS },
  },
  {
    ...ONE_IMAGE,
    names: ["seedream-5-0-pro"],
    released: "2026-06-28",
    upstreamNames: ["doubao-seedream-5-0-pro-260628", "dola-seedream-5-0-pro-260628"],
    note: "The default of `background` is `opaque`.",
    background: { values: BACKGROUNDS, transparentNeedsPng: true },
    layers: { max: 16, sizes: SIZES_WITH_LAYERS },
  },
  {
    ...ONE_IMAGE,
    names: ["seedream-5-0-flash"],
    released: "2026-09-15",
    upstreamNames: ["doubao-seedream-5-0-flash-260915", "dola-seedream-5-0-flash-260915"],
    background: { values: BACKGROUNDS },
    layers: { max: 16, sizes: SIZES_WITH_LAYERS },
  },
  {
    ...SEQUENCES,
    // The first build has names without "lite".
    names: ["seedream-5-0-lite", "seedream-5-0"],
    released: "2026-01-28",
    upstreamNames: [
      "doubao-seedream-5-0-lite-260128",
      "doubao-seedream-5-0-260128",
      "seedream-5-0-lite-260128",
      "seedream-5-0-260128",
    ],
    note: 'Accepts `tools: [{"type": "web_search"}]`.',
    size: {
      presets: ["2K", "3K", "4K"],
      totalPixels: { min: 3_686_400, max: 16_777_216 },
      maxAspectRatio: 16,
    },
    outputFormats: ["png", "jpeg"],
  },
  {
    ...SEQUENCES,
    names: ["seedream-4-5"],
    released: "2025-11-28",
    upstreamNames: ["doubao-seedream-4-5-251128", "seedream-4-5-251128"],
    note: "`output_format` has no effect: images are JPEG.",
    size: { presets: ["2K", "4K"], totalPixels: { min: 3_686_400, max: 16_777_216 }, maxAspectRatio: 16 },
  },
  {
    ...SEQUENCES,
    names: ["seedream-4-0"],
    released: "2025-08-28",
    upstreamNames: ["doubao-seedream-4-0-250828", "seedream-4-0-250828"],
    note: '`output_format` has no effect: images are JPEG. Accepts `optimize_prompt_options: {"mode": "fast"}`.',
    size: { presets: ["1K", "2K", "4K"], totalPixels: { min: 921_600, max: 16_777_216 }, maxAspectRatio: 16 },
  },
];
