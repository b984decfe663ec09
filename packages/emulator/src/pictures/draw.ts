import { drawBackground } from "./background.js";
import { drawCaption } from "./caption.js";
import { loadSharp } from "./fonts.js";
import type { PictureRecipe } from "./recipe.js";
import { drawReferences } from "./references.js";
import { drawWatermark } from "./watermark.js";

/** The encoded picture of a recipe, of exactly its size. */
export async function drawPicture(recipe: PictureRecipe): Promise<Buffer> {
  const sharp = await loadSharp();
  const { width, height, watermark } = recipe;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${drawBackground(recipe)}${drawCaption(recipe)}${watermark === undefined ? "" : drawWatermark(watermark, width, height)}</svg>`;
  const picture = sharp(Buffer.from(svg)).removeAlpha();
  if (recipe.references.length > 0) picture.composite(await drawReferences(recipe));
  // Flat colours compress well without the costly choice of a filter per row.
  return recipe.format === "png"
    ? picture.png({ compressionLevel: 2, adaptiveFiltering: false }).toBuffer()
    : picture.jpeg({ quality: 88 }).toBuffer();
}
