import type { ModelRow } from "../capabilities.js";

const SOURCE = "BFL's reference (docs.bfl.ai) and the `@ai-sdk/black-forest-labs` package 2.0.41";

/** Sides are multiples of 16 (docs.apiyi.com and black-forest-labs/skills, `bfl-api`). */
const FLUX_2_SIZES = {
  side: { min: 64, max: 4096 },
  multipleOf: 16,
  totalPixels: { min: 64 * 64, max: 4 * 1024 * 1024 },
};

const COMMON = {
  source: SOURCE,
  checked: "2026-11",
  imagesPerCall: 1,
  streaming: false,
  outputFormats: ["jpeg", "png"],
};

/** The FLUX models on BFL's own API. Only data. */
export const BFL_MODELS: readonly ModelRow[] = [
  {
    ...COMMON,
    names: ["flux-3-image"],
    released: "2026-10-01",
    // The reference of Comfy and ComfyUI's node: 768x768 to about 16 megapixels, 21:9 to 9:21. Not seen at BFL itself.
    size: { totalPixels: { min: 768 * 768, max: 2 ** 24 }, maxAspectRatio: 2.34 },
    references: { max: 10 },
    outputFormats: undefined,
    note: "A size becomes `aspect_ratio` and `resolution`. Accepts `grounding` and `safety_tolerance` 0 to 4. Second-hand: its sizes.",
  },
  { ...COMMON, names: ["flux-2-pro"], size: FLUX_2_SIZES, references: { max: 8 } },
  { ...COMMON, names: ["flux-2-max"], size: FLUX_2_SIZES, references: { max: 8 } },
  {
    ...COMMON,
    names: ["flux-2-flex"],
    size: FLUX_2_SIZES,
    references: { max: 8 },
    note: "Accepts `steps` and `guidance`.",
  },
  {
    ...COMMON,
    names: ["flux-2-klein-4b", "flux-2-klein-9b"],
    size: FLUX_2_SIZES,
    references: { max: 4 },
    note: "Second-hand: the number of reference images.",
  },
  {
    ...COMMON,
    names: ["flux-kontext-pro", "flux-kontext-max"],
    size: { maxAspectRatio: 2.34 },
    references: { max: 4 },
    note: "A size becomes `aspect_ratio`; images have about one megapixel. Second-hand: the number of reference images.",
  },
  {
    ...COMMON,
    names: ["flux-pro-1.0-fill"],
    size: "none",
    references: { min: 1, max: 1 },
    note: "Needs `image`, and changes what its `mask` shows. The image has the size of the input.",
  },
];
