import type { Random } from "../random.js";

/** The colours of one image, as CSS colours. */
export interface Palette {
  readonly skyTop: string;
  readonly skyBottom: string;
  readonly light: string;
  /** From the farthest layer (0) to the nearest (1). */
  layer(depth: number): string;
}

/** From blue over violet and red to orange. A green or yellow sky does not look natural. */
const skyHues = { from: 185, span: 205 };

/** A sky in one hue, and land in about the opposite hue. */
export function choosePalette(random: Random): Palette {
  const hue = skyHues.from + random() * skyHues.span;
  const isNight = random() < 0.3;
  const landHue = hue + 150 + random() * 60;
  const top = isNight ? 18 : 42 + random() * 14;
  return {
    skyTop: hsl(hue, 55, top),
    skyBottom: hsl(hue + 25 + random() * 30, 78, isNight ? 48 : 80),
    light: hsl(hue + 50, 95, 90),
    layer: (depth) =>
      hsl(landHue + depth * 25, 30 + depth * 14, (isNight ? 44 : 62) - depth * (isNight ? 32 : 42)),
  };
}

function hsl(hue: number, saturation: number, lightness: number): string {
  return `hsl(${Math.round(hue) % 360}, ${Math.round(saturation)}%, ${Math.round(lightness)}%)`;
}
