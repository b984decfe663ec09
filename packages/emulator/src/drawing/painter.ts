import { availableParallelism } from "node:os";
import { limitConcurrency } from "../limit-concurrency.js";
import { drawImage } from "./draw.js";
import { drawTinyImage } from "./draw-tiny.js";
import type { ImageRecipe } from "./recipe.js";

/** Draws the encoded picture of a recipe. */
export type Painter = (recipe: ImageRecipe) => Promise<Buffer>;

/** One picture per core: a picture of 16 megapixels takes some 100 MB, and more at once draws none of them faster. */
const limit = limitConcurrency(availableParallelism());

export function createPainter(pictures: "full" | "tiny"): Painter {
  const draw = pictures === "tiny" ? drawTinyImage : drawImage;
  return (recipe) => limit(() => draw(recipe));
}
