import { createRandom, type Random } from "../random.js";
import { choosePalette, type Palette } from "./palette.js";
import type { ImageRecipe } from "./recipe.js";
import { drawDunes, drawHills, drawSea, drawTowers, type Scene } from "./scenes.js";

/** The words that call for a scene; a prompt with none of them gets any. */
const scenes: readonly (readonly [Scene, RegExp])[] = [
  [drawSea, /\b(?:sea|ocean|waves?|lake|river)\b|海|浪|湖|江/i],
  [drawTowers, /\b(?:city|cities|towers?|skyline|street|building)s?\b|城|楼|街/i],
  [drawDunes, /\b(?:desert|dunes?|sand)\b|沙/i],
  [drawHills, /\b(?:hills?|mountains?|forest|valley)\b|山|林/i],
];

/** A landscape of the recipe's size as SVG: the prompt chooses scene and hue, seed and index the shapes. */
export function drawBackground(recipe: ImageRecipe): string {
  const byPrompt = createRandom(recipe.promptHash);
  const random = createRandom(recipe.promptHash ^ (recipe.seed + recipe.index * 7919));
  const drawScene = chooseScene(recipe.prompt, byPrompt);
  const palette = choosePalette(byPrompt);
  const { width, height } = recipe;
  return (
    drawSky(width, height, palette) +
    drawSun(width, height, palette, random) +
    drawScene({ width, height, palette, random })
  );
}

function chooseScene(prompt: string, random: Random): Scene {
  const [anyScene] = scenes[Math.floor(random() * scenes.length)] ?? [drawHills];
  const [named] = scenes.find(([, words]) => words.test(prompt)) ?? [anyScene];
  return named;
}

function drawSky(width: number, height: number, palette: Palette): string {
  return `<linearGradient id="sky" x1="0" y1="0" x2="0" y2="1">
    <stop offset="0" stop-color="${palette.skyTop}"/><stop offset="0.75" stop-color="${palette.skyBottom}"/>
  </linearGradient><rect width="${width}" height="${height}" fill="url(#sky)"/>`;
}

/** Rings instead of a radial gradient, which would cost as much as the rest of the picture. */
function drawSun(width: number, height: number, palette: Palette, random: Random): string {
  const radius = Math.min(width, height) * (0.06 + random() * 0.07);
  const x = Math.round(width * (0.2 + random() * 0.6));
  const y = Math.round(height * (0.2 + random() * 0.25));
  const rings = [
    [3.2, 0.08],
    [2.3, 0.1],
    [1.6, 0.16],
    [1, 0.95],
  ] as const;
  return rings
    .map(
      ([scale, opacity]) =>
        `<circle cx="${x}" cy="${y}" r="${Math.round(radius * scale)}" fill="${palette.light}" fill-opacity="${opacity}"/>`,
    )
    .join("");
}
