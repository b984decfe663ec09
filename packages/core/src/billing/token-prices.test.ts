import { describe, expect, it } from "vitest";
import type { Usage } from "../types.js";
import type { ItemizedDerivation } from "./charge.js";
import { mergeOutcomes } from "./merge-outcomes.js";
import type { ModelDetails } from "./model-details.js";
import { calculateCharge, createPriceList, estimateCharge } from "./pricing.js";
import { toSettledRecord } from "./records.js";

const REQUEST = {
  id: "req_1",
  receivedAt: 0,
  time: "1970-01-01T00:00:00.000Z",
  caller: "me",
  group: "default",
  model: "m",
  operation: "generate",
} as const;
const SENT_TO = { channel: "c", upstreamModel: "m", attempts: [] };
const OUTCOME = { status: 200, images: 1, endedAt: 0 };

/** A million tokens of each kind cost a digit of their own. */
const DETAILS: ModelDetails = {
  pricing_mode: "per-token",
  output_token_price: "1000000",
  input_token_price: "100000",
  input_text_token_price: "10000",
  input_image_token_price: "1000",
  cached_input_token_price: "100",
  output_image_token_price: "10",
  output_text_token_price: "1",
};

describe("prices by kind of token", () => {
  it.each<[string, Usage, string]>([
    [
      "each kind at its price",
      { output_image_tokens: 1, output_text_tokens: 2, input_text_tokens: 3 },
      "0.030012",
    ],
    ["images and the cache of the input", { input_image_tokens: 4, cached_input_tokens: 5 }, "0.0045"],
    ["output of unknown kind", { output_tokens: 3, output_image_tokens: 1 }, "2.00001"],
    ["input of unknown kind", { output_tokens: 1, total_tokens: 4, input_text_tokens: 1 }, "1.21"],
    ["a total alone as output", { total_tokens: 2 }, "2"],
    ["a total beside the input as output", { total_tokens: 5, input_text_tokens: 3 }, "2.03"],
    [
      "parts that are more than the total",
      { total_tokens: 1, output_tokens: 1, output_image_tokens: 5 },
      "0.00005",
    ],
  ])("charge %s", (_what, usage, amount) => {
    expect(calculateCharge({ details: DETAILS, usage }).amount).toBe(amount);
  });

  it("fall back to the price of output and of input", () => {
    const details: ModelDetails = {
      pricing_mode: "per-token",
      output_token_price: "1000000",
      input_token_price: "10000",
      cached_input_token_price: "100",
    };
    const usage = {
      output_image_tokens: 1,
      output_text_tokens: 1,
      input_text_tokens: 1,
      input_image_tokens: 1,
      cached_input_tokens: 1,
    };
    expect(calculateCharge({ details, usage }).amount).toBe("2.0201");
  });

  it("show one line for each kind", () => {
    const usage = { output_tokens: 4, output_image_tokens: 3, total_tokens: 10, input_text_tokens: 6 };
    expect(calculateCharge({ details: DETAILS, usage, group_ratio: "2" }).derivation).toEqual({
      pricing_mode: "per-token",
      group_ratio: "2",
      lines: [
        {
          what: "output_image_tokens",
          count: 3,
          source: "output_image_tokens",
          unit_price: "10",
          amount: "0.00006",
        },
        { what: "output_tokens", count: 1, source: "output_tokens", unit_price: "1000000", amount: "2" },
        {
          what: "input_text_tokens",
          count: 6,
          source: "input_text_tokens",
          unit_price: "10000",
          amount: "0.12",
        },
      ],
      exact: "2.12006",
      unpriced: false,
    });
  });

  it("charge nothing, and say so, if no tokens are reported", () => {
    const { amount, derivation } = calculateCharge({ details: DETAILS, usage: { generated_images: 2 } });
    expect(amount).toBe("0");
    expect(derivation).toMatchObject({ unpriced: true, lines: [] });
  });

  it("hold the most tokens at the highest price of all", () => {
    const details: ModelDetails = { ...DETAILS, output_token_price: "1", input_image_token_price: "2000000" };
    const { amount, derivation } = estimateCharge({ details, request: { maxImages: 2, maxPixels: 512 } });
    expect(amount).toBe("8");
    expect((derivation as ItemizedDerivation).lines).toMatchObject([
      { what: "input_image_tokens", count: 4, source: "request" },
    ]);
  });

  it("hold output and input apart, each at the highest of its prices, if both have a bound", () => {
    const request = { maxImages: 2, maxTokensPerImage: 10, maxInputTokens: 4, upstreamCalls: 2 };
    const { derivation } = estimateCharge({ details: DETAILS, request });
    expect((derivation as ItemizedDerivation).lines).toMatchObject([
      { what: "output_tokens", count: 20, source: "request", amount: "20" },
      { what: "input_tokens", count: 8, source: "request", amount: "0.8" },
    ]);
  });

  it.each<[string, Usage, string]>([
    ["more output than the request can make", { output_tokens: 30, total_tokens: 34 }, "10.4"],
    ["more input than the request can have", { output_tokens: 3, total_tokens: 34 }, "3.4"],
    ["more of a kind of input", { output_tokens: 3, total_tokens: 34, input_text_tokens: 9 }, "3.04"],
    ["a total alone", { total_tokens: 34 }, "10"],
    ["a total beside the input", { total_tokens: 34, input_text_tokens: 3 }, "10.03"],
  ])("are cut to both bounds: %s", (_what, usage, amount) => {
    const bounds = { maxImages: 1, maxTokensPerImage: 10, maxInputTokens: 4 };
    const price = createPriceList({ model_details: { m: DETAILS } }).find("m", "default");
    const record = toSettledRecord({ ...REQUEST, bounds, price }, SENT_TO, { ...OUTCOME, usage });
    expect(record).toMatchObject({ charge: amount, reportedUsage: usage });
  });

  it("charge several calls call by call", () => {
    const usages: readonly Usage[] = [
      { total_tokens: 5, input_text_tokens: 3 },
      { output_tokens: 2, total_tokens: 6 },
      { output_image_tokens: 1, cached_input_tokens: 2 },
    ];
    const bounds = { maxImages: 1, maxTokensPerImage: 10 };
    const price = createPriceList({ model_details: { m: DETAILS } }).find("m", "default");
    const apart = usages.map((usage) => Number(price.charge({ usage }).amount));
    const outcome = mergeOutcomes(
      usages.map((usage) => ({ ...OUTCOME, usage })),
      bounds,
    );
    const whole = { ...bounds, maxImages: 3, upstreamCalls: 3 };
    const record = toSettledRecord({ ...REQUEST, bounds: whole, price }, SENT_TO, { ...OUTCOME, ...outcome });
    expect(Number(record.charge)).toBeCloseTo(
      apart.reduce((sum, amount) => sum + amount),
      9,
    );
    expect(record).not.toHaveProperty("reportedUsage");
  });

  it.each([
    [{ output_image_tokens: -1 }, "usage.output_image_tokens"],
    [{ cached_input_tokens: 1.5 }, "usage.cached_input_tokens"],
    [{ output_text_tokens: Number.MAX_SAFE_INTEGER, input_text_tokens: 1 }, "the number of tokens"],
  ])("refuse the report %j", (usage, name) => {
    expect(() => calculateCharge({ details: DETAILS, usage })).toThrow(`${name} must be a whole number`);
  });
});
