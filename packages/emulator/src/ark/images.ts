import type { ImageFormat, ImageKind } from "../drawing/recipe.js";
import type { PixelSize } from "../pixel-size.js";
import { imageCountInPrompt, layerCountInPrompt } from "../prompt-hints.js";
import type { Random } from "../random.js";

/** One image that a request makes. */
export interface PlannedImage {
  readonly size: PixelSize;
  readonly format: ImageFormat;
  readonly kind: ImageKind;
  /** The further fields that a layer has in the response. */
  readonly layer?: LayerFields;
}

/** Ark documents the names of these fields only. Their values here are the emulator's choice. */
interface LayerFields {
  /** 1 for the lowest layer above the base image. */
  readonly z_index: number;
  /** Left, top, right and bottom in pixels of the base image. The layer has the size of this box. */
  readonly bounding_box: readonly [number, number, number, number];
  readonly name: string;
  readonly description: string;
}

/** As many images as the prompt says, at most `maxImages`. Without a batch: one. */
export function planBatch(
  image: PlannedImage,
  prompt: string,
  maxImages: number | undefined,
): readonly PlannedImage[] {
  if (maxImages === undefined) return [image];
  const length = Math.min(maxImages, imageCountInPrompt(prompt) ?? maxImages);
  return Array.from({ length }, () => image);
}

/** If the prompt has no number. */
const usualLayers = 3;

/** The base image, and as many layers as the prompt says (`5 layers`), at most `maxLayers`. */
export function planLayers(
  base: PlannedImage,
  { prompt, maxLayers, random }: { prompt: string; maxLayers: number; random: Random },
): readonly PlannedImage[] {
  const length = Math.min(maxLayers, layerCountInPrompt(prompt) ?? usualLayers);
  return [base, ...Array.from({ length }, (_, index) => planLayer(base.size, index + 1, random))];
}

function planLayer(base: PixelSize, zIndex: number, random: Random): PlannedImage {
  const size = { width: shareOf(base.width, random), height: shareOf(base.height, random) };
  const left = Math.floor((base.width - size.width) * random());
  const top = Math.floor((base.height - size.height) * random());
  const layer: LayerFields = {
    z_index: zIndex,
    bounding_box: [left, top, left + size.width, top + size.height],
    name: `layer-${zIndex}`,
    description: `Layer ${zIndex} above the base image`,
  };
  return { size, format: "png", kind: "layer", layer };
}

/** Between a quarter and three quarters of a side. */
function shareOf(side: number, random: Random): number {
  return Math.round(side * (0.25 + random() * 0.5));
}
