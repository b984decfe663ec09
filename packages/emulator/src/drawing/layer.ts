import { createRandom } from "../random.js";
import { choosePalette } from "./palette.js";
import type { ImageRecipe } from "./recipe.js";
import { svgText } from "./svg-text.js";
import { measure } from "./text-layout.js";

/** A layer of a decomposed image as SVG: an ellipse with soft edges and the layer's name, transparent around it. */
export function drawLayer({ width, height, prompt, seed }: ImageRecipe): string {
  const { skyTop, light } = choosePalette(createRandom(seed));
  const fontSize = Math.max(6, Math.min(height * 0.16, (width * 0.6) / measure(prompt)));
  return `<radialGradient id="edge">
    <stop offset="0.8" stop-color="${skyTop}"/><stop offset="1" stop-color="${skyTop}" stop-opacity="0"/>
  </radialGradient>
  <ellipse cx="${width / 2}" cy="${height / 2}" rx="${width / 2}" ry="${height / 2}" fill="url(#edge)"/>
  ${svgText(prompt, { x: width / 2, y: height / 2 + fontSize * 0.35, fontSize, fill: light, anchor: "middle" })}`;
}
