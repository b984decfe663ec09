import sharp from "sharp";

/** A small PNG of this colour. */
export function drawPng(red = 0): Promise<Buffer> {
  const background = { r: red, g: 80, b: 160 };
  return sharp({ create: { width: 64, height: 64, channels: 3, background } })
    .png()
    .toBuffer();
}

/** The data URL of a PNG, as a provider gets it. */
export function toDataUrl(png: Uint8Array): string {
  return `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
}

/** Decodes an image and returns its properties. Rejects if the bytes are not an image. */
export async function decode(image: Uint8Array) {
  const { data, info } = await sharp(image).raw().toBuffer({ resolveWithObject: true });
  if (data.length === 0) throw new Error("The image is empty.");
  const { format } = await sharp(image).metadata();
  return { width: info.width, height: info.height, format };
}

/** Whether some of an image's pixels are transparent. */
export async function hasTransparentPixels(image: Uint8Array): Promise<boolean> {
  const { isOpaque } = await sharp(image).stats();
  return !isOpaque;
}
