import { loadSharp } from "./fonts.js";
import { channelsOf, type ImageRecipe } from "./recipe.js";

const longestSide = 32;
const maxStored = 100;
const stored = new Map<string, Promise<Buffer>>();

/** A small plain image of about the requested shape. It is drawn once, so that load tests spend no time on images. */
export function drawTinyImage(recipe: ImageRecipe): Promise<Buffer> {
  const scale = longestSide / Math.max(recipe.width, recipe.height);
  const width = Math.max(1, Math.round(recipe.width * scale));
  const height = Math.max(1, Math.round(recipe.height * scale));
  const key = `${width}x${height}x${channelsOf(recipe)}.${recipe.format}`;
  const image = stored.get(key) ?? drawPlain({ ...recipe, width, height });
  if (stored.size < maxStored) stored.set(key, image);
  return image;
}

/** One colour; if the image has an alpha channel, an ellipse of the colour. */
async function drawPlain(recipe: ImageRecipe): Promise<Buffer> {
  const sharp = await loadSharp();
  const { width, height, format } = recipe;
  const shape =
    channelsOf(recipe) === 3
      ? `<rect width="${width}" height="${height}" fill="#9678b4"/>`
      : `<ellipse cx="${width / 2}" cy="${height / 2}" rx="${width / 2}" ry="${height / 2}" fill="#9678b4"/>`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${shape}</svg>`;
  const image = sharp(Buffer.from(svg));
  return (channelsOf(recipe) === 3 ? image.removeAlpha() : image).toFormat(format).toBuffer();
}
