import { createSeriesMap } from "../../util/series.js";
import type { ModelLimits } from "../model-limits.js";

/** Ark's rules for every model: at most 14 references, and 15 images with the references. */
export const MAX_REFERENCES = 14;
export const MAX_IMAGES = 15;

/** Media types that Ark takes as reference images. */
export const REFERENCE_MEDIA_TYPES: ReadonlySet<string> = new Set(
  ["jpeg", "jpg", "png", "webp", "bmp", "tiff", "gif", "heic", "heif"].map((format) => `image/${format}`),
);

const ALL_MODELS = {
  references: { max: MAX_REFERENCES },
  maxImages: MAX_IMAGES,
  maxReferencesAndImages: MAX_IMAGES,
};

const MAX_PIXELS = 16_777_216;

/** Presets and pixels by model, from Ark's image generation reference (November 2026). */
const ROWS = createSeriesMap<ModelLimits>({
  "seedream-5-0*": {
    ...ALL_MODELS,
    size: {
      presets: ["2K", "3K", "4K"],
      totalPixels: { min: 3_686_400, max: MAX_PIXELS },
      maxAspectRatio: 16,
    },
  },
  "seedream-4-5*": {
    ...ALL_MODELS,
    size: { presets: ["2K", "4K"], totalPixels: { min: 3_686_400, max: MAX_PIXELS }, maxAspectRatio: 16 },
  },
  "seedream-4-0*": {
    ...ALL_MODELS,
    size: { presets: ["1K", "2K", "4K"], totalPixels: { min: 921_600, max: MAX_PIXELS }, maxAspectRatio: 16 },
  },
});

/** The limits of a model by its name, with or without the `doubao-` of the Chinese site. */
export function findSeedreamLimits(name: string): ModelLimits | undefined {
  return ROWS.find(name.replace(/^doubao-/, ""))?.value;
}
