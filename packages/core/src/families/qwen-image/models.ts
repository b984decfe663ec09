import type { ModelRow } from "../capabilities.js";

const SOURCE = "the Qwen-Image references of Alibaba Cloud Model Studio";

const SIZES_3_0 = { totalPixels: { min: 512 * 512, max: 2560 * 2560 }, maxAspectRatio: 8 };
const SIZES_2_0 = { totalPixels: { min: 512 * 512, max: 2048 * 2048 } };
const SIZES_OF_EDITS = { side: { min: 512, max: 2048 } };
const FIVE_SIZES = {
  list: [
    [1664, 928],
    [1472, 1104],
    [1328, 1328],
    [1104, 1472],
    [928, 1664],
  ],
} as const;

const NOTE_3_0 =
  "Without `size` the model chooses one. Accepts `enable_thinking` (with `prompt_extend`) and `prompt_extend_mode` " +
  "(`direct`, or `agent` without reference images).";
const NOTE_2_0 = "The default size is `2048*2048`; with a reference image the size follows the last image.";

const WAN_SOURCE = "the Wan 2.7 image reference of Alibaba Cloud Model Studio (document 3026980, 2026-10-11)";
/** The reference states the tiers. The bounds of sizes in pixels are those of the tiers; no source states them. */
const SIZES_WAN = {
  presets: ["1K", "2K"],
  totalPixels: { min: 512 * 512, max: 2048 * 2048 },
  maxAspectRatio: 8,
};
const SIZES_WAN_PRO = {
  presets: ["1K", "2K", "4K"],
  totalPixels: { min: 512 * 512, max: 4096 * 4096 },
  maxAspectRatio: 8,
};
const NOTE_WAN =
  "The default size is `2K`. Without `n` the provider makes 4 images (other sources: 1 if the call is synchronous); the " +
  "shorthand sends `n: 1`. With `enable_sequential`, up to 12 images. Accepts `thinking_mode`, `bbox_list` and `color_palette`.";
const WAN = {
  source: WAN_SOURCE,
  checked: "2026-11",
  references: { max: 9 },
  imagesPerCall: 4,
  defaultImages: 4,
  imagesPerSequence: 12,
} as const;

/** The models of the family. Only data: `capabilities.ts` finds the rows, `request.ts` applies them. */
export const QWEN_IMAGE_MODELS: readonly ModelRow[] = [
  {
    names: ["qwen-image-3.0-pro"],
    released: "2026-07-20",
    source: SOURCE,
    checked: "2026-11",
    note: NOTE_3_0,
    size: SIZES_3_0,
    references: { max: 3 },
    imagesPerCall: 6,
  },
  {
    names: ["qwen-image-3.0"],
    released: "2026-08-04",
    source: SOURCE,
    checked: "2026-11",
    note: NOTE_3_0,
    size: SIZES_3_0,
    references: { max: 3 },
    imagesPerCall: 6,
  },
  {
    names: ["qwen-image-2.0-pro"],
    source: SOURCE,
    checked: "2026-11",
    note: NOTE_2_0,
    size: SIZES_2_0,
    references: { max: 3 },
    imagesPerCall: 6,
  },
  {
    names: ["qwen-image-2.0"],
    source: SOURCE,
    checked: "2026-11",
    note: NOTE_2_0,
    size: SIZES_2_0,
    references: { max: 3 },
    imagesPerCall: 6,
  },
  {
    names: ["qwen-image-max"],
    source: SOURCE,
    checked: "2026-11",
    note: "The default size is `1664*928`.",
    size: FIVE_SIZES,
    references: { max: 3 },
    imagesPerCall: 1,
  },
  {
    names: ["qwen-image-plus"],
    source: SOURCE,
    checked: "2026-11",
    note: "The default size is `1664*928`.",
    size: FIVE_SIZES,
    references: { max: 3 },
    imagesPerCall: 1,
  },
  {
    names: ["qwen-image-edit-max"],
    source: SOURCE,
    checked: "2026-11",
    note: "The default size has about 1024 × 1024 pixels in the aspect ratio of the last reference image.",
    size: SIZES_OF_EDITS,
    references: { min: 1, max: 3 },
    imagesPerCall: 6,
  },
  {
    names: ["qwen-image-edit-plus"],
    source: SOURCE,
    checked: "2026-11",
    note: "The default size has about 1024 × 1024 pixels in the aspect ratio of the last reference image.",
    size: SIZES_OF_EDITS,
    references: { min: 1, max: 3 },
    imagesPerCall: 6,
  },
  {
    names: ["qwen-image-edit"],
    source: SOURCE,
    checked: "2026-11",
    note: "Has no `prompt_extend`.",
    size: "none",
    references: { min: 1, max: 3 },
    imagesPerCall: 1,
  },
  {
    ...WAN,
    names: ["wan2.7-image-pro"],
    note: `${NOTE_WAN} \`4K\` without reference images only.`,
    size: SIZES_WAN_PRO,
    sizeWithReferences: { ...SIZES_WAN_PRO, presets: ["1K", "2K"] },
  },
  { ...WAN, names: ["wan2.7-image"], note: NOTE_WAN, size: SIZES_WAN },
];
