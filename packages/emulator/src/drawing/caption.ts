import type { ImageRecipe } from "./recipe.js";
import { svgText, toDrawable } from "./svg-text.js";
import { fitText, lineHeight, measure } from "./text-layout.js";

/** Prompt and seed on a dark panel at the bottom, and the number in a batch in the top right corner. */
export function drawCaption(recipe: ImageRecipe): string {
  const { width, height } = recipe;
  const short = Math.min(width, height);
  const margin = Math.round(short * 0.05);
  const padding = Math.round(short * 0.04);
  const detailSize = fitDetail(recipe, width - 2 * (margin + padding), Math.round(short * 0.026));
  const text = fitText(toDrawable(recipe.prompt), {
    width: width - 2 * (margin + padding),
    height: height * (recipe.references.length > 0 ? 0.24 : 0.36), // the upper half is for the references
    largestFont: Math.round(short * 0.072),
    smallestFont: Math.round(short * 0.032),
  });
  const step = text.fontSize * lineHeight;
  const panelHeight = Math.round(padding * 2 + text.lines.length * step + detailSize * 1.2);
  const top = height - margin * 2 - panelHeight;
  const lines = text.lines.map((line, index) =>
    svgText(line, {
      x: margin + padding,
      y: Math.round(top + padding + text.fontSize * 0.95 + index * step),
      fontSize: text.fontSize,
      fill: "#fff",
    }),
  );
  const detail = svgText(describe(recipe), {
    x: margin + padding,
    y: top + panelHeight - padding,
    fontSize: detailSize,
    fill: "#fff",
    opacity: 0.72,
  });
  const panel = `<rect x="${margin}" y="${top}" width="${width - 2 * margin}" height="${panelHeight}" rx="${padding}" fill="#10131c" fill-opacity="0.62"/>`;
  return panel + lines.join("") + detail + drawBatchNumber(recipe);
}

function describe(recipe: ImageRecipe): string {
  return `${recipe.model}  ·  ${recipe.width} × ${recipe.height}  ·  seed ${recipe.seed}`;
}

function fitDetail(recipe: ImageRecipe, width: number, wanted: number): number {
  return Math.max(6, Math.min(wanted, Math.floor(width / measure(describe(recipe)))));
}

function drawBatchNumber(recipe: ImageRecipe): string {
  if (recipe.count <= 1) return "";
  const { margin, fontSize, boxWidth, boxHeight } = batchNumberBox(recipe);
  const left = recipe.width - margin - boxWidth;
  const label = svgText(`${recipe.index + 1} / ${recipe.count}`, {
    x: left + Math.round(boxWidth / 2),
    y: margin + Math.round(boxHeight * 0.72),
    fontSize,
    fill: "#fff",
    anchor: "middle",
  });
  return `<rect x="${left}" y="${margin}" width="${boxWidth}" height="${boxHeight}" rx="${Math.round(boxHeight / 2)}" fill="#10131c" fill-opacity="0.62"/>${label}`;
}

function batchNumberBox({ width, height }: ImageRecipe) {
  const short = Math.min(width, height);
  const fontSize = Math.round(short * 0.05);
  const [boxWidth, boxHeight] = [Math.round(fontSize * 3), Math.round(fontSize * 1.6)];
  return { margin: Math.round(short * 0.04), fontSize, boxWidth, boxHeight };
}

/** The height of the batch number at the top, in pixels. */
export function heightOfBatchNumber(recipe: ImageRecipe): number {
  const { margin, boxHeight } = batchNumberBox(recipe);
  return recipe.count <= 1 ? 0 : margin + boxHeight;
}

/** The provider's mark in the bottom right corner, white with a shadow, so that it is visible on every image. */
export function drawWatermark(words: string, width: number, height: number): string {
  const short = Math.min(width, height);
  const fontSize = Math.round(short * 0.034);
  const edge = Math.max(1, Math.round(fontSize * 0.06));
  const place = { x: width - Math.round(short * 0.04), y: height - Math.round(short * 0.034), fontSize };
  const shadow = { ...place, x: place.x + edge, y: place.y + edge, fill: "#000", opacity: 0.55 };
  return (
    svgText(words, { ...shadow, anchor: "end", weight: 700 }) +
    svgText(words, { ...place, fill: "#fff", opacity: 0.92, anchor: "end", weight: 700 })
  );
}
