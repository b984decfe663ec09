import { createRandom, type Random } from "../random.js";
import { choosePalette, type Palette } from "./palette.js";
import type { ImageRecipe } from "./recipe.js";

/** A landscape as SVG. The prompt determines scene and colours, the seed and the index determine the shapes. */
export function drawScene(recipe: ImageRecipe): string {
  const byPrompt = createRandom(recipe.promptHash);
  const random = createRandom(recipe.promptHash ^ (recipe.seed + recipe.index * 7919));
  const draw = chooseScene(recipe.prompt, byPrompt);
  const palette = choosePalette(byPrompt);
  const { width, height } = recipe;
  return (
    drawSky(width, height, palette) +
    drawSun(width, height, palette, random) +
    draw({ width, height, palette, random })
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

/** Rings, because drawing a radial gradient takes as long as drawing the rest of the image. */
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

interface SceneArea {
  readonly width: number;
  readonly height: number;
  readonly palette: Palette;
  readonly random: Random;
}

/** Draws the land in front of the sky as SVG, from far to near. */
type Scene = (canvas: SceneArea) => string;

const layers = 5;

const drawHills: Scene = (canvas) =>
  drawLayers(canvas, (depth) => {
    const base = canvas.height * (0.42 + depth * 0.42);
    const amplitude = canvas.height * (0.11 - depth * 0.05);
    return ridge(canvas, 40, wave(canvas.random, base, amplitude));
  });

const drawSea: Scene = (canvas) =>
  drawLayers(canvas, (depth) => {
    const base = canvas.height * (0.55 + depth * 0.36);
    const crest = canvas.height * (0.006 + depth * 0.022);
    const frequency = 26 - depth * 18;
    const phase = canvas.random() * Math.PI * 2;
    return ridge(canvas, 96, (along) => base - crest * Math.sin(along * frequency + phase) ** 2 * 2);
  });

const drawDunes: Scene = (canvas) =>
  drawLayers(canvas, (depth) => {
    const base = canvas.height * (0.5 + depth * 0.38);
    const slope = canvas.height * 0.16 * (canvas.random() < 0.5 ? 1 : -1);
    const swell = wave(canvas.random, 0, canvas.height * 0.035);
    return ridge(canvas, 32, (along) => base + slope * (along - 0.5) + swell(along));
  });

const drawTowers: Scene = (canvas) =>
  drawLayers(canvas, (depth) => {
    const count = Math.max(6, Math.round((canvas.width / canvas.height) * (18 - depth * 8)));
    const base = canvas.height * (0.66 + depth * 0.2);
    const tallest = canvas.height * (0.3 - depth * 0.08);
    const roofs = Array.from({ length: count + 1 }, () => base - tallest * canvas.random() ** 1.6);
    return roofs
      .map((roof, index) => {
        const [left, right] = [(canvas.width * index) / count, (canvas.width * (index + 1)) / count];
        return `L${Math.round(left)} ${Math.round(roof)}L${Math.round(right)} ${Math.round(roof)}`;
      })
      .join("");
  });

/** The words of a prompt that choose a scene. A prompt without such words gets any scene. */
const scenes: readonly (readonly [Scene, RegExp])[] = [
  [drawSea, /\b(?:sea|ocean|waves?|lake|river)\b|海|浪|湖|江/i],
  [drawTowers, /\b(?:city|cities|towers?|skyline|street|building)s?\b|城|楼|街/i],
  [drawDunes, /\b(?:desert|dunes?|sand)\b|沙/i],
  [drawHills, /\b(?:hills?|mountains?|forest|valley)\b|山|林/i],
];

/** Fills the area below the outline of each layer. `outline` returns the inner part of an SVG path. */
function drawLayers(canvas: SceneArea, outline: (depth: number) => string): string {
  const { width, height, palette } = canvas;
  return Array.from({ length: layers }, (_, layer) => {
    const depth = layer / (layers - 1);
    return `<path d="M0 ${height}${outline(depth)}L${width} ${height}Z" fill="${palette.layer(depth)}"/>`;
  }).join("");
}

function ridge(canvas: SceneArea, steps: number, heightAt: (along: number) => number): string {
  return Array.from({ length: steps + 1 }, (_, step) => {
    const along = step / steps;
    return `L${Math.round(along * canvas.width)} ${Math.round(heightAt(along))}`;
  }).join("");
}

/** A smooth line: the sum of three sine waves with decreasing heights. */
function wave(random: Random, base: number, amplitude: number): (along: number) => number {
  const parts = [1.6, 3.7, 8.9].map((frequency, index) => ({
    frequency: frequency * (0.8 + random() * 0.6),
    phase: random() * Math.PI * 2,
    height: amplitude / (index + 1) ** 1.5,
  }));
  return (along) =>
    parts.reduce((y, part) => y - part.height * Math.sin(along * part.frequency * 2 + part.phase), base);
}
