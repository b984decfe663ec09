import { loadSharp } from "./fonts.js";
import type { PictureRecipe } from "./recipe.js";

const longestSide = 32;
const maxKept = 100;
const kept = new Map<string, Promise<Buffer>>();

/** A small plain picture of about the asked shape, drawn once: load tests pay for the protocol, not for pictures. */
export function drawTinyPicture(recipe: PictureRecipe): Promise<Buffer> {
  const scale = longestSide / Math.max(recipe.width, recipe.height);
  const width = Math.max(1, Math.round(recipe.width * scale));
  const height = Math.max(1, Math.round(recipe.height * scale));
  const key = `${width}x${height}.${recipe.format}`;
  const picture = kept.get(key) ?? drawPlain(width, height, recipe.format);
  if (kept.size < maxKept) kept.set(key, picture);
  return picture;
}

async function drawPlain(width: number, height: number, format: "png" | "jpeg"): Promise<Buffer> {
  const sharp = await loadSharp();
  const background = { r: 150, g: 120, b: 180 };
  return sharp({ create: { width, height, channels: 3, background } })
    .toFormat(format)
    .toBuffer();
}
