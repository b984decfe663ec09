import { invalidRequest } from "../../errors.js";
import { findNearestRatio } from "../../images/nearest-size.js";
import { isLink, type ReferenceImage, toBase64 } from "../../images/reference-image.js";
import { countPixels, parsePixels } from "../../images/size.js";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import type { UpstreamCall } from "../upstream-call.js";

/** `POST /{model}`. The models differ in how they take a size and images, so their names decide it. */
export function toBfl(request: ImageRequest, model: string): UpstreamCall {
  const { size, ...fields } = request.upstreamFields;
  const json = {
    ...fields,
    ...(typeof size === "string" && writeSize(size, model)),
    ...writeImages(request, model),
  };
  return { path: `/${encodeURIComponent(model)}`, body: { json } };
}

/** FLUX 3 and the ultra model take a ratio and a tier, Kontext a ratio, the others pixels. */
function writeSize(size: string, model: string): JsonObject {
  if (!/^flux-(?:[3-9]|kontext|pro-1\.1-ultra)/.test(model)) {
    const [width, height] = parsePixels(size, "x") ?? [];
    if (width === undefined) throw invalidRequest("size must be <width>x<height>.", "size");
    return { width, height };
  }
  const ratio = findNearestRatio(size, RATIOS);
  return {
    ...(ratio !== undefined && { aspect_ratio: ratio }),
    ...(/^flux-[3-9]/.test(model) && { resolution: findTier(countPixels(size) ?? 0) }),
  };
}

/** Of FLUX 3 (docs.comfy.org, November 2026). */
const RATIOS = [
  "21:9",
  "2:1",
  "16:9",
  "3:2",
  "7:5",
  "4:3",
  "5:4",
  "1:1",
  "4:5",
  "3:4",
  "5:7",
  "2:3",
  "9:16",
  "1:2",
  "9:21",
];

/** The tiers of FLUX 3, each with the most pixels that are nearer to it than to the next one. */
const TIERS: readonly (readonly [most: number, tier: string])[] = [
  [1280 ** 2, "1k"],
  [1792 ** 2, "1.5k"],
  [3072 ** 2, "2k"],
];

function findTier(pixels: number): string {
  return TIERS.find(([most]) => pixels <= most)?.[1] ?? "4k";
}

function writeImages({ images, mask }: ImageRequest, model: string): JsonObject {
  const isFill = model.includes("fill");
  if (mask !== undefined && !isFill) {
    throw invalidRequest("mask is not supported by this model: describe the area in the prompt.", "mask");
  }
  const written = images.map(writeImage);
  if (isFill) return { image: written[0], ...(mask !== undefined && { mask: writeImage(mask) }) };
  if (/^flux-[3-9]/.test(model)) return written.length === 0 ? {} : { images: written };
  return Object.fromEntries(
    written.map((image, at) => [at === 0 ? "input_image" : `input_image_${at + 1}`, image]),
  );
}

/** Links stay links. Bytes are base64 without a prefix. */
const writeImage = (image: ReferenceImage): unknown => (isLink(image) ? image : toBase64(image));
