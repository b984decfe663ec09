import { availableParallelism } from "node:os";
import { limitConcurrency } from "../limit-concurrency.js";
import { drawPicture } from "./draw.js";
import { drawTinyPicture } from "./draw-tiny.js";
import type { PictureRecipe } from "./recipe.js";

/** Draws the encoded picture of a recipe. */
export type Painter = (recipe: PictureRecipe) => Promise<Buffer>;

/** One picture per core: a picture of 16 megapixels takes some 100 MB, and more at once draws none of them faster. */
const limit = limitConcurrency(availableParallelism());

export function createPainter(pictures: "full" | "tiny"): Painter {
  const draw = pictures === "tiny" ? drawTinyPicture : drawPicture;
  return (recipe) => limit(() => draw(recipe));
}
