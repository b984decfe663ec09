/** The size of an image. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Reads `2048x2048` (Ark, any letter case) or `2048*2048` (DashScope). `undefined` if the value is anything else. */
export function parsePixelSize(value: unknown, separator: "x" | "*"): PixelSize | undefined {
  const parts = typeof value === "string" ? patterns[separator].exec(value) : null;
  if (parts === null) return undefined;
  const [width, height] = [Number(parts[1]), Number(parts[2])];
  return width > 0 && height > 0 ? { width, height } : undefined;
}

const patterns = { x: /^(\d{1,6})x(\d{1,6})$/i, "*": /^(\d{1,6})\*(\d{1,6})$/ } as const;

/** The long side divided by the short side: 16 for 16:1 and for 1:16. */
export function sideRatioOf({ width, height }: PixelSize): number {
  return Math.max(width / height, height / width);
}

/** About this number of pixels in this aspect ratio, with sides that are multiples of `step`. */
export function sizeOfRatio(ratio: number, { pixels, step }: { pixels: number; step: number }): PixelSize {
  const round = (side: number) => Math.max(step, Math.round(side / step) * step);
  return { width: round(Math.sqrt(pixels * ratio)), height: round(Math.sqrt(pixels / ratio)) };
}

/** Reads an aspect ratio such as `16:9`: width divided by height. */
export function parseRatio(value: string | undefined): number | undefined {
  const parts = /^(\d{1,2}(?:\.\d+)?):(\d{1,2}(?:\.\d+)?)$/.exec(value ?? "");
  const ratio = parts === null ? 0 : Number(parts[1]) / Number(parts[2]);
  return ratio > 0 && Number.isFinite(ratio) ? ratio : undefined;
}
