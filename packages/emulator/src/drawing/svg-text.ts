import { fontFamily } from "./sharp.js";

interface TextStyle {
  readonly x: number;
  readonly y: number;
  readonly fontSize: number;
  readonly fill: string;
  readonly weight?: 400 | 700;
  readonly anchor?: "start" | "middle" | "end";
  readonly opacity?: number;
}

/** One line of text as SVG. */
export function svgText(text: string, style: TextStyle): string {
  const { x, y, fontSize, fill, weight = 400, anchor = "start", opacity = 1 } = style;
  return `<text x="${x}" y="${y}" font-family="${fontFamily}" font-size="${fontSize}" font-weight="${weight}" fill="${fill}" fill-opacity="${opacity}" text-anchor="${anchor}">${escapeXml(toDrawable(text))}</text>`;
}

/** Removes control characters, lone surrogates and non-characters, which XML does not allow. */
export function toDrawable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").replaceAll(/[\p{Cs}\p{Cn}]/gu, "");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
