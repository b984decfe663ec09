import { hashText } from "../random.js";
import type { ReferenceImage } from "./recipe.js";
import { loadSharp } from "./sharp.js";
import { svgText } from "./svg-text.js";

const side = 640;

/** The image that replaces a reference that the emulator does not download: the name of its host on a colour. */
export async function drawPlaceholder(label: string): Promise<ReferenceImage> {
  const sharp = await loadSharp();
  const hue = hashText(label) % 360;
  const middle = side / 2;
  const fontSize = Math.min(72, Math.floor((side * 1.5) / Math.max(1, label.length)));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}">
    <linearGradient id="g" x1="0" y1="0" x2="1" y2="1">
      <stop offset="0" stop-color="hsl(${hue}, 45%, 62%)"/><stop offset="1" stop-color="hsl(${hue + 40}, 50%, 38%)"/>
    </linearGradient>
    <rect width="${side}" height="${side}" fill="url(#g)"/>
    <circle cx="${middle}" cy="${middle - 90}" r="70" fill="none" stroke="#fff" stroke-opacity="0.8" stroke-width="12"/>
    ${svgText(label, { x: middle, y: middle + 90, fontSize, fill: "#fff", anchor: "middle" })}
    ${svgText("not downloaded", { x: middle, y: middle + 160, fontSize: 36, fill: "#fff", anchor: "middle", opacity: 0.75 })}
  </svg>`;
  return { thumbnail: await sharp(Buffer.from(svg)).png().toBuffer(), width: side, height: side };
}
