import type { Sharp } from "sharp";
import { loadSharp } from "../pictures/fonts.js";
import { drawPlaceholder } from "../pictures/placeholder.js";
import { type ReferencePicture, thumbnailSide } from "../pictures/recipe.js";
import { BadReference } from "./bad-reference.js";
import { decodeBmp } from "./decode-bmp.js";
import { type ImageType, sniffImageType } from "./image-type.js";

/** Decodes an image for real: what is none, or is cut off, is a bad reference. */
export async function measureReference(bytes: Buffer): Promise<ReferencePicture> {
  const type = sniffImageType(bytes);
  if (type === undefined) throw new BadReference("not-an-image");
  const { image, width, height } = await open(bytes, type);
  if (image === undefined) return { ...(await drawPlaceholder(type.toUpperCase())), width, height };
  const thumbnail = image
    .resize(thumbnailSide, thumbnailSide, { fit: "inside", withoutEnlargement: true, kernel: "linear" })
    .flatten({ background: "#fff" })
    .jpeg({ quality: 90, optimiseCoding: false });
  try {
    return { thumbnail: await thumbnail.toBuffer(), width, height };
  } catch {
    throw new BadReference("not-an-image");
  }
}

interface OpenedImage {
  /** Absent where the format is known but cannot be decoded here. */
  readonly image: Sharp | undefined;
  readonly width: number;
  readonly height: number;
}

async function open(bytes: Buffer, type: ImageType): Promise<OpenedImage> {
  const sharp = await loadSharp();
  if (type === "bmp") {
    const bitmap = decodeBmp(bytes);
    if (bitmap === undefined) throw new BadReference("not-an-image");
    const { pixels, width, height } = bitmap;
    return { image: sharp(pixels, { raw: { width, height, channels: 3 } }), width, height };
  }
  // The sizes of a HEIC file are inside a container that the prebuilt sharp may not read.
  if (type === "heif") return { image: undefined, width: 1024, height: 1024 };
  try {
    const { width, height } = await sharp(bytes).metadata();
    return { image: sharp(bytes), width, height };
  } catch {
    throw new BadReference("not-an-image");
  }
}
