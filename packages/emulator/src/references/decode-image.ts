import type { Sharp } from "sharp";
import { drawPlaceholder } from "../drawing/placeholder.js";
import { type ReferenceImage, thumbnailSide } from "../drawing/recipe.js";
import { loadSharp } from "../drawing/sharp.js";
import { BadReference } from "./bad-reference.js";

/** The formats that both providers read. Only Ark reads HEIC and HEIF. */
type ImageType = "jpeg" | "png" | "webp" | "bmp" | "tiff" | "gif" | "heif";

/** A reference image that the emulator has read. */
export interface LoadedReference extends ReferenceImage {
  /** `undefined` if the image is on another machine, so that the emulator did not download it. */
  readonly type: ImageType | undefined;
  readonly hasAlpha: boolean;
}

/** Decodes the whole image, so that a damaged or incomplete image is found. Throws `BadReference`. */
export async function decodeImage(bytes: Buffer): Promise<LoadedReference> {
  const type = detectType(bytes);
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

/** The format by the first bytes, because file names and media types can be wrong. */
function detectType(bytes: Buffer): ImageType | undefined {
  const start = bytes.toString("latin1", 0, 12);
  if (start.startsWith("\xff\xd8\xff")) return "jpeg";
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "png";
  if (start.startsWith("RIFF") && start.endsWith("WEBP")) return "webp";
  if (start.startsWith("GIF8")) return "gif";
  if (start.startsWith("BM")) return "bmp";
  if (start.startsWith("II*\0") || start.startsWith("MM\0*")) return "tiff";
  return /^....ftyp(?:heic|heix|hevc|heim|mif1|msf1)/s.test(start) ? "heif" : undefined;
}

interface OpenedImage {
  /** Absent if the emulator knows the format but cannot decode it. */
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
  // The prebuilt sharp cannot read HEIC containers, which contain the size.
  if (type === "heif") return { image: undefined, width: 1024, height: 1024, hasAlpha: false };
  try {
    const { width, height, hasAlpha } = await sharp(bytes).metadata();
    return { image: sharp(bytes), width, height, hasAlpha };
  } catch {
    throw new BadReference("not-an-image");
  }
}

interface RawImage {
  /** Three bytes a pixel, from top to bottom. */
  readonly pixels: Buffer;
  readonly width: number;
  readonly height: number;
}

/** Reads a Windows bitmap with 24 or 32 bits, which sharp cannot read. `undefined` for other bitmaps. */
function decodeBmp(bytes: Buffer): RawImage | undefined {
  if (bytes.length < 54) return undefined;
  const [width, signedHeight] = [bytes.readInt32LE(18), bytes.readInt32LE(22)];
  const height = Math.abs(signedHeight);
  const bytesPerPixel = bytes.readUInt16LE(28) / 8;
  const isCompressed = bytes.readUInt32LE(30) !== 0 && bytesPerPixel !== 4;
  if (width <= 0 || height === 0 || isCompressed || (bytesPerPixel !== 3 && bytesPerPixel !== 4))
    return undefined;
  const start = bytes.readUInt32LE(10);
  const bytesPerRow = Math.ceil((width * bytesPerPixel) / 4) * 4;
  if (bytes.length < start + bytesPerRow * height) return undefined;
  const pixels = Buffer.allocUnsafe(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    // Rows go from bottom to top unless the height is negative.
    let from = start + bytesPerRow * (signedHeight > 0 ? height - 1 - y : y);
    let to = y * width * 3;
    for (let x = 0; x < width; x += 1) {
      pixels[to] = bytes[from + 2] ?? 0;
      pixels[to + 1] = bytes[from + 1] ?? 0;
      pixels[to + 2] = bytes[from] ?? 0;
      from += bytesPerPixel;
      to += 3;
    }
  }
  return { pixels, width, height };
}
