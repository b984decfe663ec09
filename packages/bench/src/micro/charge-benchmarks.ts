import { calculateCharge, estimateCharge } from "@calotype/core/billing";
import type { MicroBenchmark } from "./time-function.ts";

const PER_TOKEN = {
  pricing_mode: "per-token",
  output_token_price: "3.75",
  input_token_price: "0.6",
  decimal_places: 6,
} as const;
const PER_REQUEST = { pricing_mode: "per-request", model_price: "0.25" } as const;
const USAGE = { generated_images: 4, output_tokens: 65_536, total_tokens: 65_731 };

/** Calculations of charges, with exact decimals. */
export function createChargeBenchmarks(): MicroBenchmark[] {
  return [
    {
      title: "calculateCharge, per token",
      run: () => calculateCharge({ details: PER_TOKEN, usage: USAGE, group_ratio: "0.85" }),
    },
    {
      title: "calculateCharge, per request",
      run: () => calculateCharge({ details: PER_REQUEST, usage: USAGE, group_ratio: "0.85" }),
    },
    {
      title: "estimateCharge, per token",
      run: () =>
        estimateCharge({
          details: PER_TOKEN,
          request: { maxImages: 4, maxPixels: 4_194_304 },
          group_ratio: "0.85",
        }),
    },
  ];
}
