import { createSeriesMap } from "../../util/series.js";
import type { Capabilities } from "../family.js";

/** The interface's limit of reference images for every model of the family. */
export const MAX_REFERENCES = 3;

/** Media types that DashScope takes as reference images. */
export const REFERENCE_MEDIA_TYPES: ReadonlySet<string> = new Set(
  ["jpeg", "jpg", "png", "webp", "bmp", "tiff", "gif"].map((format) => `image/${format}`),
);

const GENERATE = { references: { max: MAX_REFERENCES } };
const EDIT = { references: { min: 1, max: MAX_REFERENCES } };
const VERSION_2_SIZES = { totalPixels: { min: 512 * 512, max: 2048 * 2048 } };
const EDIT_SIZES = { side: { min: 512, max: 2048 } };
const FIVE_SIZES = {
  list: [
    [1664, 928],
    [1472, 1104],
    [1328, 1328],
    [1104, 1472],
    [928, 1664],
  ],
} as const;

/** Sizes and counts by model, from DashScope's Qwen-Image reference (November 2026). */
const ROWS = createSeriesMap<Capabilities>({
  "qwen-image-2.0*": { ...GENERATE, size: VERSION_2_SIZES, maxImages: 6 },
  "qwen-image-max*": { ...GENERATE, size: FIVE_SIZES, maxImages: 1 },
  "qwen-image-plus*": { ...GENERATE, size: FIVE_SIZES, maxImages: 1 },
  "qwen-image-edit-max*": { ...EDIT, size: EDIT_SIZES, maxImages: 6 },
  "qwen-image-edit-plus*": { ...EDIT, size: EDIT_SIZES, maxImages: 6 },
  "qwen-image-edit": { ...EDIT, size: "none", maxImages: 1 },
});

/** The limits of a model by its name; the interface's `image-…` is read as `qwen-image-…`. */
export function findQwenImageCapabilities(name: string): Capabilities | undefined {
  return ROWS.find(name.replace(/^image-/, "qwen-image-"))?.value;
}
