import type { Random } from "../random.js";

/** The colours of one picture, as CSS colours. */
export interface Palette {
  readonly skyTop: string;
  readonly skyBottom: string;
  readonly light: string;
  /** From the farthest layer (0) to the nearest (1). */
  layer(depth: number): string;
}

/**
 * A warm or cool light over land of the opposite hue. The hue comes from the prompt, so that two prompts
 * are told apart at a glance; the images of a batch stay close to each other.
 */
export function choosePalette(hue: number, random: Random): Palette {
  const isNight = random() < 0.3;
  const landHue = hue + 150 + random() * 60;
  const top = isNight ? 18 : 42 + random() * 14;
  return {
    skyTop: hsl(hue, 55, top),
    skyBottom: hsl(hue + 40 + random() * 30, 78, isNight ? 48 : 80),
    light: hsl(hue + 50, 95, 90),
    layer: (depth) =>
      hsl(landHue + depth * 25, 30 + depth * 14, (isNight ? 44 : 62) - depth * (isNight ? 32 : 42)),
  };
}

function hsl(hue: number, saturation: number, lightness: number): string {
  return `hsl(${Math.round(hue) % 360}, ${Math.round(saturation)}%, ${Math.round(lightness)}%)`;
}
