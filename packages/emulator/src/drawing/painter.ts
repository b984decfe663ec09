import { availableParallelism } from "node:os";
import type { ImageMode } from "../options.js";
import { drawImage } from "./draw.js";
import { channelsOf, type ImageRecipe } from "./recipe.js";
import { loadSharp } from "./sharp.js";

/** Draws the image of a recipe and encodes it. */
export type Painter = (recipe: ImageRecipe) => Promise<Buffer>;

/**
 * Draws one image per core at the same time. More would not be faster, and an image of 16 megapixels takes about 100 MB
 * of memory.
 */
const limit = limitConcurrency(availableParallelism());

export function createPainter(images: ImageMode): Painter {
  const draw = { full: drawImage, plain: drawPlainOnce, tiny: drawTinyImage }[images];
  return (recipe) => limit(() => draw(recipe));
}

const longestSide = 32;
const maxStored = 100;
const stored = new Map<string, Promise<Buffer>>();

/** A small plain image of about the requested shape. */
function drawTinyImage(recipe: ImageRecipe): Promise<Buffer> {
  const scale = longestSide / Math.max(recipe.width, recipe.height);
  const width = Math.max(1, Math.round(recipe.width * scale));
  const height = Math.max(1, Math.round(recipe.height * scale));
  return drawPlainOnce({ ...recipe, width, height });
}

/** A plain image. It is drawn once for each size, so that tests spend no time on images. */
function drawPlainOnce(recipe: ImageRecipe): Promise<Buffer> {
  const key = `${recipe.width}x${recipe.height}x${channelsOf(recipe)}.${recipe.format}`;
  const image = stored.get(key) ?? drawPlain(recipe);
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
  if (format === "svg") return Buffer.from(svg);
  return (channelsOf(recipe) === 3 ? image.removeAlpha() : image).toFormat(format).toBuffer();
}

/** Runs tasks in the order of their calls, at most a certain number at the same time. */
type Limiter = <Result>(task: () => Promise<Result>) => Promise<Result>;

export function limitConcurrency(maxRunning: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= maxRunning) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      // The next waiting task starts directly, so that no new task can start before it.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
