import { createRowFinder } from "../shared.js";
import { QWEN_IMAGE_MODELS } from "./models.js";

/** The interface's limit of reference images for every model of the family. */
export const MAX_REFERENCES = 3;

/** Media types that DashScope takes as reference images. */
export const REFERENCE_MEDIA_TYPES: ReadonlySet<string> = new Set(
  ["jpeg", "jpg", "png", "webp", "bmp", "tiff", "gif"].map((format) => `image/${format}`),
);

/** Reads the interface's `image-…` as `qwen-image-…`. */
function toQwenImageRowName(name: string): string {
  return name.replace(/^image-/, "qwen-image-");
}

/** Finds what a model can do by its name, with or without a date: `qwen-image-2.0-pro-2026-06-22`. */
export const findQwenImageCapabilities = createRowFinder(QWEN_IMAGE_MODELS, {
  toRowName: toQwenImageRowName,
  buildDate: /-\d{4}-\d{2}-\d{2}$/,
});
