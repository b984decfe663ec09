import type { Capabilities } from "@calotype/core/families";

/** The pixels of a size such as `1024x768`; `undefined` for any other text. */
export function readPixels(size: string, separator: "x" | "*"): readonly [number, number] | undefined {
  const sides = size.split(separator);
  const [width, height] = sides.map(readSide);
  return sides.length === 2 && width !== undefined && height !== undefined ? [width, height] : undefined;
}

function readSide(text: string): number | undefined {
  const side = Number(text);
  return Number.isInteger(side) && side >= 1 && side < 1_000_000 && String(side) === text ? side : undefined;
}

/** Whether a model takes a size. Aspect ratios have at most one decimal place here, so that the comparison is exact. */
export function isAllowedSize(
  size: string,
  limits: NonNullable<Capabilities["size"]>,
  separator: "x" | "*",
): boolean {
  if (limits === "none") return false;
  const { presets = [], list, totalPixels, side, maxAspectRatio } = limits;
  if (presets.some((preset) => preset.toUpperCase() === size.toUpperCase())) return true;
  const pixels = readPixels(size, separator);
  const takesPixels = presets.length === 0 || Boolean(list ?? totalPixels ?? side ?? maxAspectRatio);
  if (pixels === undefined || !takesPixels) return false;
  const [short, long] = pixels.toSorted((a, b) => a - b);
  const isInside = (value: number, range: typeof side): boolean =>
    range === undefined || (range.min <= value && value <= range.max);
  return (
    (list ?? [pixels]).some(([width, height]) => width === pixels[0] && height === pixels[1]) &&
    isInside(pixels[0] * pixels[1], totalPixels) &&
    pixels.every((value) => isInside(value, side)) &&
    (maxAspectRatio === undefined || Number(long) * 10 <= Math.round(maxAspectRatio * 10) * Number(short))
  );
}

/** A reference image as it is forwarded; `undefined` for one that is refused. */
export function expectReference(value: unknown, formats: readonly string[]): string | undefined {
  if (typeof value !== "string") return undefined;
  const start = value.slice(0, 8).toLowerCase();
  if (start.startsWith("http://") || start.startsWith("https://"))
    return URL.canParse(value) ? value : undefined;
  if (!start.startsWith("data:")) return undefined;
  const comma = value.indexOf(",");
  const header = value.slice("data:".length, comma).toLowerCase();
  const content = value.slice(comma + 1);
  const isKnown = formats.some((format) => header === `image/${format};base64`);
  return comma !== -1 && isKnown && isBase64(content) ? `data:${header},${content}` : undefined;
}

function isBase64(text: string): boolean {
  let end = text.length;
  while (end > text.length - 2 && text[end - 1] === "=") end -= 1;
  for (let index = 0; index < end; index += 1) {
    const letter = text[index] ?? "";
    const isLetter = (letter >= "a" && letter <= "z") || (letter >= "A" && letter <= "Z");
    if (!isLetter && !(letter >= "0" && letter <= "9") && letter !== "+" && letter !== "/") return false;
  }
  return end > 0;
}
