import type { Sharp } from "sharp";
import { drawBackground } from "./background.js";
import { drawCaption } from "./caption.js";
import { loadSharp } from "./fonts.js";
import { pastePrint } from "./paste-print.js";
import type { PictureRecipe } from "./recipe.js";
import { drawReferences } from "./references.js";
import { drawWatermark } from "./watermark.js";

/** The encoded picture of a recipe, of exactly its size. */
export async function drawPicture(recipe: PictureRecipe): Promise<Buffer> {
  const plain = await drawPlain(recipe);
  const picture = recipe.references.length > 0 ? await withPrints(plain, recipe) : plain;
  // Flat colours compress well without what makes the encoders slow: a filter per row, tables made to measure.
  return recipe.format === "png"
    ? picture.png({ compressionLevel: 2, adaptiveFiltering: false }).toBuffer()
    : picture.jpeg({ quality: 88, optimiseCoding: false }).toBuffer();
}

/** All but the references, not rendered yet. */
async function drawPlain(recipe: PictureRecipe): Promise<Sharp> {
  const sharp = await loadSharp();
  const { width, height, watermark } = recipe;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${drawBackground(recipe)}${drawCaption(recipe)}${watermark === undefined ? "" : drawWatermark(watermark, width, height)}</svg>`;
  return sharp(Buffer.from(svg)).removeAlpha();
}

/** Copied row by row: sharp's `composite` blends every pixel of the picture, which takes as long as all the rest. */
async function withPrints(plain: Sharp, recipe: PictureRecipe): Promise<Sharp> {
  const sharp = await loadSharp();
  const { width, height } = recipe;
  const [pixels, prints] = await Promise.all([plain.raw().toBuffer(), drawReferences(recipe)]);
  for (const print of prints) pastePrint({ pixels, width, height }, print);
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}
