import {
  type ChargeInput,
  calculateCharge,
  estimateCharge,
  type ModelDetails,
  type RequestBounds,
} from "@calotype/core/billing";
import { describe, expect, it } from "vitest";
import { extractFromMarkdown } from "./support/extract-code.js";
import { readText } from "./support/workspace.js";

const PAGE = readText("docs/price-rules.md");

it("docs/price-rules.md has the price lists that examples/price-check tests", () => {
  const blocks = extractFromMarkdown("docs/price-rules.md", PAGE).map(({ code }) => code);
  const isCopied = blocks.includes(readText("examples/price-check/provider-prices.ts").trimEnd());
  const remedy = "Copy examples/price-check/provider-prices.ts into its code block of docs/price-rules.md.";
  expect(isCopied ? [] : [remedy]).toEqual([]);
});

/** 5.0 Pro in `BYTEPLUS_USD`. */
const PRO: ModelDetails = {
  pricing_mode: "per-request",
  image_prices: [{ up_to_pixels: 2_359_296, price: "0.045" }, { price: "0.09" }],
  layer_price: [{ up_to_pixels: 2_359_296, price: "0.0225" }, { price: "0.045" }],
  reference_image_price: "0.003",
  free_reference_images: 1,
};

interface Example {
  readonly made: Omit<ChargeInput, "details">;
  readonly request: RequestBounds;
}

const PRESET_2K = 2848 * 1600;
const small = { size: "1024x1024" };
const large = { size: "2048x2048" };
const layer = { ...small, isLayer: true };
const one = { usage: { generated_images: 1 } };

/** The rows of the table, in their order. */
const EXAMPLES: readonly Example[] = [
  { made: { ...one, images: [small] }, request: { maxImages: 1, maxPixels: 1024 * 1024 } },
  { made: { ...one, images: [large] }, request: { maxImages: 1, maxPixels: PRESET_2K } },
  {
    made: { ...one, images: [large], reference_images: 3 },
    request: { maxImages: 1, maxPixels: PRESET_2K, referenceImages: 3 },
  },
  { made: { ...one, images: [small] }, request: { maxImages: 1, maxPixels: 4_624_220 } },
  {
    made: {
      usage: { generated_images: 4 },
      images: [large, layer, layer, layer],
      reference_images: 1,
    },
    request: { maxImages: 17, maxLayers: 16, maxPixels: PRESET_2K, referenceImages: 1 },
  },
  {
    made: {
      usage: { generated_images: 2 },
      images: [small, small],
      reference_images: 2,
      upstream_calls: 2,
    },
    request: { maxImages: 3, maxPixels: 1024 * 1024, referenceImages: 2, upstreamCalls: 3 },
  },
];

const KINDS: ModelDetails = {
  pricing_mode: "per-token",
  output_token_price: "40",
  input_token_price: "5",
  input_image_token_price: "10",
  cached_input_token_price: "1.25",
};

/** The cells of the table whose head begins with this, without the head. */
function readTable(head: string): readonly (readonly string[])[] {
  const table = PAGE.slice(PAGE.indexOf(head)).split("\n\n")[0] ?? "";
  return table
    .split("\n")
    .slice(2)
    .map((row) => row.split("|").slice(1, -1));
}

/** The number that a cell ends with. */
const resultOf = (cell: string | undefined): string | undefined => /[\d.]+(?= *$)/.exec(cell ?? "")?.[0];

describe("the examples of docs/price-rules.md", () => {
  it("of images have the charge and the hold that the functions compute", () => {
    const rows = readTable("| Request to Seedream 5.0 Pro |").map(([, charge, hold]) => [
      resultOf(charge),
      resultOf(hold),
    ]);
    expect(rows).toEqual(
      EXAMPLES.map(({ made, request }) => [
        calculateCharge({ details: PRO, ...made }).amount,
        estimateCharge({ details: PRO, request }).amount,
      ]),
    );
  });

  it("of tokens have the charge that the function computes", () => {
    const rows = readTable("| Usage | Charge |").map(([usage = "", charge]) => {
      const counts = [...usage.matchAll(/(\w+): (\d+)/g)].map(([, name = "", count]) => [
        name,
        Number(count),
      ]);
      return { usage: Object.fromEntries(counts), charge: resultOf(charge) };
    });
    expect(rows).toHaveLength(2);
    for (const { usage, charge } of rows) {
      expect(calculateCharge({ details: KINDS, usage }).amount).toBe(charge);
    }
  });
});
