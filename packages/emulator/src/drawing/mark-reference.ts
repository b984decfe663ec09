import { loadSharp } from "./sharp.js";

/**
 * The thumbnail of a reference with its mask or its markup. A mask shows as a magenta veil over its transparent parts,
 * which are the parts to edit. A markup is drawn over the image.
 */
export async function markReference(
  thumbnail: Buffer,
  overlay: Buffer,
  kind: "mask" | "markup",
): Promise<Buffer> {
  const sharp = await loadSharp();
  const { width, height } = await sharp(thumbnail).metadata();
  const fitted = await sharp(overlay).ensureAlpha().resize(width, height, { fit: "fill" }).png().toBuffer();
  const input = kind === "mask" ? await toVeil(fitted, { width, height }) : fitted;
  return sharp(thumbnail).composite([{ input }]).jpeg({ quality: 90 }).toBuffer();
}

async function toVeil(mask: Buffer, { width, height }: { width: number; height: number }): Promise<Buffer> {
  const sharp = await loadSharp();
  const kept = await sharp(mask).extractChannel(3).raw().toBuffer();
  const alpha = Buffer.from(kept.map((opacity) => (255 - opacity) * 0.6));
  const raw = { width, height, channels: 1 } as const;
  return sharp({ create: { width, height, channels: 3, background: "#e6007e" } })
    .joinChannel(alpha, { raw })
    .png()
    .toBuffer();
}
