import { assert, constantFrom, integer, oneof, option, pre, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { findNearestSize } from "../images/nearest-size.js";
import {
  checkSize,
  isAllowedSize,
  parsePixels,
  type SizeLimits,
  type SizeStyle,
  takesPresetsOnly,
} from "../images/size.js";
import { casesOf } from "../testing/random.js";
import { BFL_MODELS } from "./bfl/models.js";
import { GEMINI_MODELS } from "./gemini/models.js";
import { OPENAI_MODELS, OTHER_MODELS } from "./openai/models.js";
import { QWEN_IMAGE_MODELS } from "./qwen-image/models.js";
import { REPLICATE_MODELS } from "./replicate/models.js";
import { SEEDREAM_MODELS } from "./seedream/models.js";

interface SizedModel {
  readonly name: string;
  readonly limits: SizeLimits;
  readonly style: SizeStyle;
}

/** Every row that has rules for sizes, and every row's rules for layers. */
const MODELS: readonly SizedModel[] = [
  ...SEEDREAM_MODELS.map((row) => ({ row, separator: "x" as const })),
  ...[...OPENAI_MODELS, ...OTHER_MODELS].map((row) => ({ row, separator: "x" as const })),
  ...QWEN_IMAGE_MODELS.map((row) => ({ row, separator: "*" as const })),
  ...[...GEMINI_MODELS, ...BFL_MODELS, ...REPLICATE_MODELS].map((row) => ({ row, separator: "x" as const })),
].flatMap(({ row: { names, size, layers }, separator }) => {
  const name = names[0] ?? "";
  const style: SizeStyle = { separator, param: "size" };
  const presets = layers === "none" ? undefined : layers?.sizes;
  return [
    ...(size === undefined || size === "none" ? [] : [{ name, limits: size, style }]),
    ...(presets === undefined ? [] : [{ name: `${name} with layers`, limits: { presets }, style }]),
  ];
});

const side = oneof(
  integer({ min: 1, max: 5_000 }),
  integer({ min: 1, max: 999_999 }),
  constantFrom(1, 256, 512, 768, 1024, 1536, 1792, 2048, 4096),
);
const pixels = tuple(side, side, constantFrom("x", "*", "X")).map(([w, h, by]) => `${w}${by}${h}`);
const ratio = tuple(integer({ min: 1, max: 99 }), integer({ min: 1, max: 99 })).map(([w, h]) => `${w}:${h}`);
const preset = constantFrom("0.5K", "1K", "1.5k", "2K", "3k", "4K", "8K");
const size = oneof({ weight: 5, arbitrary: pixels }, ratio, preset);
const resolution = option(oneof(pixels, preset), { nil: undefined });

describe.each(MODELS)("$name", ({ limits, style }) => {
  it("accepts every nearest size, which is its own nearest size", () => {
    assert(
      property(size, resolution, (wanted, pixelsOf) => {
        const found = findNearestSize({ size: wanted, resolution: pixelsOf }, limits) ?? "none";
        checkSize(found.replace("x", style.separator), limits, style);
        const sides = parsePixels(wanted.toLowerCase().replace("*", "x"), "x");
        const isAccepted = sides !== undefined && !takesPresetsOnly(limits) && isAllowedSize(sides, limits);
        expect(found).toBe(isAccepted ? sides.join("x") : found);
        expect(findNearestSize({ size: found }, limits)).toBe(found);
      }),
      { numRuns: casesOf(1_000) },
    );
  });
});

const CONTINUOUS = MODELS.filter(
  ({ limits }) => limits.totalPixels !== undefined || limits.side !== undefined,
);

describe.each(CONTINUOUS)("$name, whose sizes are not a list", ({ limits }) => {
  it("makes the ratio exactly if any of its multiples is accepted, and never misses a closer one", () => {
    const small = integer({ min: 1, max: 40 });
    assert(
      property(small, small, integer({ min: 1, max: 100 }), (width, height, factor) => {
        const wanted = `${width * factor}x${height * factor}`;
        const found = parsePixels(findNearestSize({ size: wanted }, limits) ?? "", "x") ?? [0, 0];
        const multiples = Array.from(
          { length: 5_000 },
          (_, i) => [(i + 1) * width, (i + 1) * height] as const,
        );
        const accepted = multiples.filter((sides) => isAllowedSize(sides, limits));
        pre(accepted.length > 0);
        expect(found[0] * height).toBe(found[1] * width);
        const area = width * height * factor ** 2;
        const distances = accepted.map(([w, h]) => Math.abs(w * h - area));
        expect(Math.abs(found[0] * found[1] - area)).toBeLessThanOrEqual(Math.min(...distances));
      }),
      { numRuns: 60 },
    );
  });
});
