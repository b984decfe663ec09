import { chance, drawInt, pick, type Random } from "./draw.ts";

/** The arguments of `calculateCharge`. The values may have any JSON type. */
export interface ChargeCase {
  readonly details: Readonly<Record<string, unknown>>;
  readonly usage: Readonly<Record<string, unknown>> | null;
  /** Absent: the default. */
  readonly group_ratio?: unknown;
}

/** The arguments of `estimateCharge`, and how much the provider then makes. */
export interface EstimateCase {
  readonly details: Readonly<Record<string, unknown>>;
  readonly group_ratio?: unknown;
  readonly request: { readonly maxImages: unknown; readonly maxPixels?: unknown };
  /** The share of the possible images and tokens that the provider makes, from 0 to 1. */
  readonly share: number;
}

/** A charge: nine of ten valid. */
export function drawChargeCase(random: Random): ChargeCase {
  return {
    details: drawDetails(random),
    usage: chance(random, 0.1) ? null : drawUsage(random),
    ...(chance(random, 0.8) && { group_ratio: drawAmount(random) }),
  };
}

export function drawEstimateCase(random: Random): EstimateCase {
  return {
    details: drawDetails(random),
    ...(chance(random, 0.8) && { group_ratio: drawAmount(random) }),
    request: {
      maxImages: chance(random, 0.95) ? drawInt(random, 1, 30) : drawCount(random),
      ...(chance(random, 0.8) && {
        maxPixels: chance(random, 0.95) ? drawInt(random, 1, 40_000_000) : drawCount(random),
      }),
    },
    share: random(),
  };
}

function drawDetails(random: Random): Record<string, unknown> {
  const places = chance(random, 0.6)
    ? {
        decimal_places: chance(random, 0.97)
          ? drawInt(random, 0, 30)
          : pick(random, [31, -1, 1.5, "2", null]),
      }
    : undefined;
  if (chance(random, 0.5)) return { pricing_mode: "per-request", model_price: drawAmount(random), ...places };
  return {
    pricing_mode: chance(random, 0.99) ? "per-token" : pick(random, ["", "per-image", null, 1]),
    output_token_price: drawAmount(random),
    ...(chance(random, 0.6) && { input_token_price: drawAmount(random) }),
    ...places,
  };
}

function drawUsage(random: Random): Record<string, unknown> {
  return {
    ...(chance(random, 0.7) && { generated_images: drawCount(random) }),
    ...(chance(random, 0.7) && { output_tokens: drawCount(random) }),
    ...(chance(random, 0.7) && { total_tokens: drawCount(random) }),
  };
}

function drawCount(random: Random): unknown {
  const kind = random();
  if (kind < 0.4) return drawInt(random, 0, 15);
  if (kind < 0.7) return drawInt(random, 0, 1_000_000);
  if (kind < 0.97) return Math.floor(random() * 2 ** 53);
  return pick(random, [-1, 1.5, 2 ** 53, "3", null, 1e300, true, []]);
}

/** Values that are not decimals, and numbers outside of the limits. */
const NO_AMOUNTS = [
  "",
  " ",
  "-1",
  "+1",
  "1.",
  ".5",
  "1e3",
  "1E-3",
  "0x10",
  "1_000",
  "1,5",
  " 1",
  "1 ",
  "1\n",
  "1.5\n",
  "NaN",
  "Infinity",
  "１",
  "٣",
  "1.1.1",
  "1".repeat(31),
  `0.${"1".repeat(31)}`,
  "9".repeat(5_000),
  null,
  true,
  [],
  ["1"],
  {},
  -1,
  -0.5,
  1e300,
  1e-300,
  1e30,
];

/** A price or a ratio: nearly always a decimal, with up to 30 digits on either side. */
function drawAmount(random: Random): unknown {
  const kind = random();
  if (kind < 0.04) return pick<unknown>(random, NO_AMOUNTS);
  if (kind < 0.12) return Number(`${drawInt(random, 1, 99_999)}e${drawInt(random, -34, 31)}`);
  if (kind < 0.2) return random() * 10 ** drawInt(random, -20, 20);
  const whole = drawDigits(random);
  return chance(random, 0.25) ? whole : `${whole}.${drawDigits(random)}`;
}

/** Digits of prices: few, at the limit, or at the border of a rounding. */
function drawDigits(random: Random): string {
  const kind = random();
  if (kind < 0.4) return String(drawInt(random, 0, 9_999));
  if (kind < 0.6) return String(drawInt(random, 0, 999)).padStart(drawInt(random, 1, 30), "0");
  if (kind < 0.75)
    return pick(random, [
      "0",
      "1",
      "5",
      "05",
      "50",
      "500",
      "4999",
      "49999999",
      "9".repeat(30),
      "0".repeat(30),
    ]);
  return Array.from({ length: drawInt(random, 1, 30) }, () => drawInt(random, 0, 9)).join("");
}
