import type { Sharp } from "sharp";
import { drawCaption, drawWatermark } from "./caption.js";
import { drawLayer } from "./layer.js";
import { pastePrint } from "./paste-print.js";
import { channelsOf, type ImageFormat, type ImageRecipe } from "./recipe.js";
import { drawReferences } from "./references.js";
import { drawScene } from "./scene.js";
import { loadSharp } from "./sharp.js";

/** The encoded image of a recipe, of exactly its size. */
export async function drawImage(recipe: ImageRecipe): Promise<Buffer> {
  if (recipe.format === "svg") return Buffer.from(toSvg(recipe)); // without the references, which are bitmaps
  const plain = await drawPlain(recipe);
  const image = recipe.references.length > 0 ? await withPrints(plain, recipe) : plain;
  return encode(image, recipe.format, recipe.compression).toBuffer();
}

/** Flat colours compress well. Adaptive filters and optimized tables would only make the encoders slow. */
function encode(image: Sharp, format: Exclude<ImageFormat, "svg">, quality = 88): Sharp {
  switch (format) {
    case "png":
      return image.png({ compressionLevel: 2, adaptiveFiltering: false });
    case "jpeg":
      return image.jpeg({ quality: Math.max(1, quality), optimiseCoding: false });
    case "webp":
      return image.webp({ quality: Math.max(1, quality), effort: 0 });
    case "gif":
      return image.gif({ effort: 1 });
  }
}

/** Everything but the references, not rendered yet. */
async function drawPlain(recipe: ImageRecipe): Promise<Sharp> {
  const sharp = await loadSharp();
  const image = sharp(Buffer.from(toSvg(recipe)));
  return channelsOf(recipe) === 3 ? image.removeAlpha() : image;
}

function toSvg(recipe: ImageRecipe): string {
  const { width, height } = recipe;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${drawContent(recipe)}</svg>`;
}

function drawContent(recipe: ImageRecipe): string {
  if (recipe.kind === "layer") return drawLayer(recipe);
  const { width, height, watermark } = recipe;
  const whole = drawScene(recipe);
  const scene = recipe.kind === "cutout" ? cutOut(whole, recipe) : whole;
  const mark = watermark === undefined ? "" : drawWatermark(watermark, width, height);
  return scene + drawCaption(recipe) + mark;
}

/** Leaves an ellipse of the scene. Everything around it is transparent. */
function cutOut(scene: string, { width, height }: ImageRecipe): string {
  const ellipse = `<ellipse cx="${width / 2}" cy="${height / 2}" rx="${width * 0.46}" ry="${height * 0.46}"/>`;
  return `<clipPath id="subject">${ellipse}</clipPath><g clip-path="url(#subject)">${scene}</g>`;
}

/** Copies the references row by row. sharp's `composite` blends all pixels, which takes as long as all the rest. */
async function withPrints(plain: Sharp, recipe: ImageRecipe): Promise<Sharp> {
  const sharp = await loadSharp();
  const { width, height } = recipe;
  const channels = channelsOf(recipe);
  const [pixels, prints] = await Promise.all([plain.raw().toBuffer(), drawReferences(recipe)]);
  for (const print of prints) pastePrint({ pixels, width, height, channels }, print);
  return sharp(pixels, { raw: { width, height, channels } });
}
