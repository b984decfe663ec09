import type { Random } from "../random.js";
import type { Palette } from "./palette.js";

interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly palette: Palette;
  readonly random: Random;
}

/** Draws what stands before the sky, far to near, as SVG. */
export type Scene = (canvas: Canvas) => string;

const layers = 5;

export const drawHills: Scene = (canvas) =>
  drawLayers(canvas, (depth) => {
    const base = canvas.height * (0.42 + depth * 0.42);
    const amplitude = canvas.height * (0.11 - depth * 0.05);
    return ridge(canvas, 40, wave(canvas.random, base, amplitude));
  });

export const drawSea: Scene = (canvas) =>
  drawLayers(canvas, (depth) => {
    const base = canvas.height * (0.55 + depth * 0.36);
    const crest = canvas.height * (0.006 + depth * 0.022);
    const frequency = 26 - depth * 18;
    const phase = canvas.random() * Math.PI * 2;
    return ridge(canvas, 96, (along) => base - crest * Math.sin(along * frequency + phase) ** 2 * 2);
  });

export const drawDunes: Scene = (canvas) =>
  drawLayers(canvas, (depth) => {
    const base = canvas.height * (0.5 + depth * 0.38);
    const slope = canvas.height * 0.16 * (canvas.random() < 0.5 ? 1 : -1);
    const swell = wave(canvas.random, 0, canvas.height * 0.035);
    return ridge(canvas, 32, (along) => base + slope * (along - 0.5) + swell(along));
  });

export const drawTowers: Scene = (canvas) =>
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

/** Fills from each layer's outline down to the bottom edge; `outline` is the inner part of an SVG path. */
function drawLayers(canvas: Canvas, outline: (depth: number) => string): string {
  const { width, height, palette } = canvas;
  return Array.from({ length: layers }, (_, layer) => {
    const depth = layer / (layers - 1);
    return `<path d="M0 ${height}${outline(depth)}L${width} ${height}Z" fill="${palette.layer(depth)}"/>`;
  }).join("");
}

function ridge(canvas: Canvas, steps: number, heightAt: (along: number) => number): string {
  return Array.from({ length: steps + 1 }, (_, step) => {
    const along = step / steps;
    return `L${Math.round(along * canvas.width)} ${Math.round(heightAt(along))}`;
  }).join("");
}

/** A smooth line: three sines of falling height. */
function wave(random: Random, base: number, amplitude: number): (along: number) => number {
  const parts = [1.6, 3.7, 8.9].map((frequency, index) => ({
    frequency: frequency * (0.8 + random() * 0.6),
    phase: random() * Math.PI * 2,
    height: amplitude / (index + 1) ** 1.5,
  }));
  return (along) =>
    parts.reduce((y, part) => y - part.height * Math.sin(along * part.frequency * 2 + part.phase), base);
}
