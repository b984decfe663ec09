import { expect, it } from "vitest";
import type { ChargeDerivation } from "../../wire.js";

import { toLines } from "./charge-lines.js";

const BY_IMAGE = {
  pricing_mode: "per-request",
  count: 3,
  count_source: "generated_images",
  model_price: "0.22",
  group_ratio: "0.8",
  exact: "0.528",
} as const satisfies ChargeDerivation;

const BY_TOKEN = {
  pricing_mode: "per-token",
  output_tokens: 7033,
  other_tokens: 9,
  token_source: "output_tokens",
  output_token_price: "30",
  input_token_price: "5",
  group_ratio: "0.8",
  exact: "0.168828",
  unpriced: false,
} as const satisfies ChargeDerivation;

it.each<[string, ChargeDerivation, string, readonly (readonly [string, string])[]]>([
  ["by image", BY_IMAGE, "0.528", [["image", "0.528"]]],
  [
    "by image, rounded up",
    { ...BY_IMAGE, decimal_places: 2 },
    "0.53",
    [
      ["image", "0.528"],
      ["rounding", "0.002"],
    ],
  ],
  [
    "by image, rounded down",
    { ...BY_IMAGE, decimal_places: 1 },
    "0.5",
    [
      ["image", "0.528"],
      ["rounding", "-0.028"],
    ],
  ],
  [
    "by image, with nothing to round",
    { ...BY_IMAGE, exact: "0.50", decimal_places: 1 },
    "0.5",
    [["image", "0.50"]],
  ],
  [
    "by request, without a count",
    { ...BY_IMAGE, count: 1, count_source: "default" },
    "0.528",
    [["request", "0.528"]],
  ],
  [
    "by token",
    BY_TOKEN,
    "0.168828",
    [
      ["output_tokens", "0.168792"],
      ["other_tokens", "0.000036"],
    ],
  ],
  [
    "by token, without other tokens",
    { ...BY_TOKEN, other_tokens: 0, exact: "0.168792" },
    "0.168792",
    [["output_tokens", "0.168792"]],
  ],
  [
    "by token, with more digits than a number of JavaScript has",
    {
      ...BY_TOKEN,
      output_tokens: 9007199254740991,
      other_tokens: 0,
      output_token_price: "0.123456789",
      group_ratio: "3",
    },
    "3335999693.620547326613697",
    [["output_tokens", "3335999693.620547326613697"]],
  ],
])("has the lines of a charge %s", (_case, derivation, amount, lines) => {
  expect(toLines(derivation, amount).map((line) => [line.what, line.amount])).toEqual(lines);
});

it("the lines of images have the size that their price depends on", () => {
  const line = { what: "image", count: 2, source: "images", unit_price: "0.6", amount: "1.2" } as const;
  const lines = [
    { ...line, pixels: 4_194_304, pixels_source: "response" },
    { ...line, what: "layer", pixels: 9, pixels_source: "request" },
    line,
  ] as const;
  const derivation = { pricing_mode: "per-request", lines, group_ratio: "1", exact: "3.6" } as const;

  const shown = toLines(derivation, "3.6");
  expect(shown.map(({ size }) => size)).toEqual([
    { pixels: 4_194_304, isMost: false },
    { pixels: 9, isMost: true },
    undefined,
  ]);
});
