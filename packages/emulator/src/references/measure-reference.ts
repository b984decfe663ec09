import type { Sharp } from "sharp";
import { loadSharp } from "../drawing/fonts.js";
import { drawPlaceholder } from "../drawing/placeholder.js";
import { type ReferenceImage, thumbnailSide } from "../drawing/recipe.js";
import { BadReference } from "./bad-reference.js";
import { decodeBmp } from "./decode-bmp.js";
import { type ImageType, sniffImageType } from "./image-type.js";

/** A reference image that the emulator has read. */
export interface LoadedReference extends ReferenceImage {
  /** `undefined` if the image is on another machine, so that the emulator did not download it. */
  readonly type: ImageType | undefined;
  readonly hasAlpha: boolean;
}

/** Decodes all of an image, so that a damaged or incomplete one is found. Throws `BadReference`. */
export async function measureReference(bytes: Buffer): Promise<LoadedReference> {
  const type = sniffImageType(bytes);
  if (type === undefined) throw new BadReference("not-an-image");
  const { image, ...facts } = await open(bytes, type);
  if (image === undefined) return { ...(await drawPlaceholder(type.toUpperCase())), ...facts, type };
  const thumbnail = image
    .resize(thumbnailSide, thumbnailSide, { fit: "inside", withoutEnlargement: true, kernel: "linear" })
    .flatten({ background: "#fff" })
    .jpeg({ quality: 90, optimiseCoding: false });
  try {
    return { thumbnail: await thumbnail.toBuffer(), ...facts, type };
  } catch {
    throw new BadReference("not-an-image");
  }
}

interface OpenedImage {
  /** Absent where the format is known but cannot be decoded here. */
  readonly image: Sharp | undefined;
  readonly width: number;
  readonly height: number;
  readonly hasAlpha: boolean;
}

async function open(bytes: Buffer, type: ImageType): Promise<OpenedImage> {
  const sharp = await loadSharp();
  if (type === "bmp") {
    const bitmap = decodeBmp(bytes);
    if (bitmap === undefined) throw new BadReference("not-an-image");
    const { pixels, width, height } = bitmap;
    return { image: sharp(pixels, { raw: { width, height, channels: 3 } }), width, height, hasAlpha: false };
  }
  // The sizes of a HEIC file are inside a container that the prebuilt sharp may not read.
  if (type === "heif") return { image: undefined, width: 1024, height: 1024, hasAlpha: false };
  try {
    const { width, height, hasAlpha } = await sharp(bytes).metadata();
    return { image: sharp(bytes), width, height, hasAlpha };
  } catch {
    throw new BadReference("not-an-image");
  }
}
