import sharp from "sharp";
import type { Emulator } from "../emulator.js";
import { download } from "./ask.js";

/** An image of one colour as a data URL. */
export async function dataUrl(
  options: {
    width?: number;
    height?: number;
    color?: string;
    format?: "png" | "jpeg" | "webp" | "gif" | "tiff";
    /** Whether the image has an alpha channel. */
    alpha?: boolean;
  } = {},
): Promise<string> {
  const { width = 64, height = 64, color = "#e02020", format = "png", alpha = false } = options;
  const bytes = await sharp({ create: { width, height, channels: alpha ? 4 : 3, background: color } })
    .toFormat(format)
    .toBuffer();
  return `data:image/${format};base64,${bytes.toString("base64")}`;
}

/** A 24-bit Windows bitmap of one colour. */
export function bmp(width: number, height: number): Buffer {
  const bytesPerRow = Math.ceil((width * 3) / 4) * 4;
  const bytes = Buffer.alloc(54 + bytesPerRow * height, 0x20);
  bytes.write("BM", 0, "latin1");
  bytes.writeUInt32LE(54, 10);
  bytes.writeUInt32LE(40, 14);
  bytes.writeInt32LE(width, 18);
  bytes.writeInt32LE(height, 22);
  bytes.writeUInt16LE(1, 26);
  bytes.writeUInt16LE(24, 28);
  bytes.writeUInt32LE(0, 30);
  return bytes;
}

/** Downloads and decodes the image of a link. */
export async function inspectLink(emulator: Emulator, url: string | undefined) {
  const response = await download(emulator, url);
  return inspect(Buffer.from(await response.arrayBuffer()));
}

export async function inspect(bytes: Buffer) {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  const { format } = await sharp(bytes).metadata();
  return { format, width: info.width, height: info.height, channels: info.channels, pixels: data };
}

type Inspected = Awaited<ReturnType<typeof inspect>>;

/** How many pixels differ between two images of the same size. The part is given in fractions of their sides. */
export function countDifferences(
  one: Inspected,
  other: Inspected,
  part: { left: number; top: number; right: number; bottom: number },
): number {
  let count = 0;
  for (let y = Math.floor(part.top * one.height); y < part.bottom * one.height; y += 1) {
    for (let x = Math.floor(part.left * one.width); x < part.right * one.width; x += 1) {
      const at = (y * one.width + x) * one.channels;
      if (Math.abs((one.pixels[at] ?? 0) - (other.pixels[at] ?? 0)) > 24) count += 1;
    }
  }
  return count;
}

/** How many pixels are about this colour. */
export function countColor(image: Inspected, [red, green, blue]: readonly [number, number, number]): number {
  let count = 0;
  for (let at = 0; at < image.pixels.length; at += image.channels) {
    const distance =
      Math.abs((image.pixels[at] ?? 0) - red) +
      Math.abs((image.pixels[at + 1] ?? 0) - green) +
      Math.abs((image.pixels[at + 2] ?? 0) - blue);
    if (distance < 40) count += 1;
  }
  return count;
}
