import { describe, expect, it } from "vitest";
import type { Usage } from "../types.js";
import { calculateCharge } from "./calculate-charge.js";
import { estimateCharge } from "./estimate-charge.js";
import type { ModelDetails } from "./model-details.js";
import { createPrice } from "./price.js";

const MODES: readonly ModelDetails[] = [
  { pricing_mode: "per-request", model_price: "0.04" },
  { pricing_mode: "per-token", output_token_price: "5", input_token_price: "2" },
];

const COUNTS = [undefined, 0, 1, 2, 3, 5, 8, 13, 21, 34, 55];

/** More than a price remembers. */
const USAGES = COUNTS.flatMap((generated_images) =>
  COUNTS.flatMap((output_tokens) =>
    COUNTS.map(
      (total_tokens): Usage => JSON.parse(JSON.stringify({ generated_images, output_tokens, total_tokens })),
    ),
  ),
);

describe.each(MODES)("a price $pricing_mode", (details) => {
  it("charges each report as if it were the first", () => {
    const price = createPrice(details, "0.5");
    for (const usage of [undefined, ...USAGES, ...USAGES.toReversed()]) {
      expect(price.charge(usage)).toEqual(calculateCharge({ details, usage, group_ratio: "0.5" }));
    }
  });

  it("estimates each request as if it were the first", () => {
    const price = createPrice(details, "0.5");
    for (let at = 0; at < 3_000; at++) {
      const request = {
        maxImages: 1 + (at % 15),
        maxPixels: at % 7 === 0 ? undefined : 1 + (at % 1_101) * 256,
      };
      expect(price.estimate(request)).toEqual(estimateCharge({ details, request, group_ratio: "0.5" }));
    }
  });

  it("works out once what it is asked for again", () => {
    const price = createPrice(details, "0.5");
    const usage = { generated_images: 1, output_tokens: 2, total_tokens: 3 };
    expect(price.charge({ ...usage })).toBe(price.charge({ ...usage }));
  });
});
