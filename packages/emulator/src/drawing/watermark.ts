import { svgText } from "./svg-text.js";

/** The provider's mark in the bottom right corner, white with a dark edge so that it shows on any ground. */
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
