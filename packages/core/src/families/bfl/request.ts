import { invalidRequest } from "../../errors.js";
import { isLink, type ReferenceImage, toBase64 } from "../../images/reference-image.js";
import type { ImageRequest } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import { type Tiers, toRatio, toSides } from "../fields/write-input.js";
import type { UpstreamCall } from "../upstream-call.js";

/** `POST /{model}`. The models differ in how they take a size and images, so their names decide it. */
export function toBfl(request: ImageRequest, model: string): UpstreamCall {
  const { size, ...fields } = request.upstreamFields;
  const json = {
    ...fields,
    ...(typeof size === "string" && findSizeWriter(model)(size)),
    ...writeImages(request, model),
  };
  return { path: `/${encodeURIComponent(model)}`, body: { json } };
}

/** FLUX 3 and later ones take a ratio and a tier, Kontext and the ultra model a ratio, the others pixels. */
function findSizeWriter(model: string): (size: string) => JsonObject {
  if (isOfThree(model)) return TO_TIER;
  return /^flux-(?:kontext|pro-1\.1-ultra)/.test(model) ? TO_RATIO : toSides;
}

const isOfThree = (model: string): boolean => /^flux-[3-9]/.test(model);

/** Of FLUX 3 (docs.comfy.org, November 2026). */
const RATIOS = "21:9 2:1 16:9 3:2 7:5 4:3 5:4 1:1 4:5 3:4 5:7 2:3 9:16 1:2 9:21".split(" ");
const TIERS: Tiers = [
  [1280 ** 2, "1k"],
  [1792 ** 2, "1.5k"],
  [3072 ** 2, "2k"],
  [Number.POSITIVE_INFINITY, "4k"],
];
const TO_TIER = toRatio(RATIOS, TIERS);
const TO_RATIO = toRatio(RATIOS);

function writeImages({ images, mask }: ImageRequest, model: string): JsonObject {
  const isFill = model.includes("fill");
  if (mask !== undefined && !isFill) {
    throw invalidRequest("mask is not supported by this model: describe the area in the prompt.", "mask");
  }
  const written = images.map(writeImage);
  if (isFill) return { image: written[0], ...(mask !== undefined && { mask: writeImage(mask) }) };
  if (isOfThree(model)) return written.length === 0 ? {} : { images: written };
  return Object.fromEntries(
    written.map((image, at) => [at === 0 ? "input_image" : `input_image_${at + 1}`, image]),
  );
}

/** Links stay links. Bytes are base64 without a prefix. */
const writeImage = (image: ReferenceImage): unknown => (isLink(image) ? image : toBase64(image));
