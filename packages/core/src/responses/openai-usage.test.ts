import { describe, expect, it } from "vitest";
import type { Usage } from "../types.js";
import { completeUsage } from "./openai-usage.js";

const shown = (input: number, output: number, total: number, details: object = {}): object => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: total,
  input_tokens_details: { text_tokens: input, image_tokens: 0, ...details },
});

describe("the usage of /v1", () => {
  it.each<[string, object, object, Usage?]>([
    ["both numbers", { output_tokens: 100, total_tokens: 130 }, shown(30, 100, 130)],
    ["no input", { output_tokens: 100, total_tokens: 100 }, shown(0, 100, 100)],
    ["no total", { output_tokens: 100 }, shown(0, 100, 100)],
    ["no output", { total_tokens: 100 }, shown(0, 100, 100)],
    ["input and no output", { input_tokens: 30, total_tokens: 100 }, shown(30, 70, 100)],
    ["more output than total", { output_tokens: 100, total_tokens: 99 }, shown(0, 100, 99)],
    ["the provider's own number", { output_tokens: 9, total_tokens: 130, input_tokens: 7 }, shown(7, 9, 130)],
    ["only other members", { images: 1 }, { ...shown(0, 0, 0), images: 1 }],
    ["names of another API", { prompt_tokens: 5, total_tokens: 8 }, shown(5, 3, 8), { output_tokens: 3 }],
    [
      "kinds",
      {},
      shown(9, 1, 10, { text_tokens: 2, image_tokens: 7 }),
      {
        output_tokens: 1,
        total_tokens: 10,
        input_text_tokens: 2,
        input_image_tokens: 7,
      },
    ],
    [
      "the kinds of the provider",
      { input_tokens: 9, input_tokens_details: { image_tokens: 7, cached_tokens: 1 } },
      shown(9, 0, 9, { text_tokens: 2, image_tokens: 7, cached_tokens: 1 }),
    ],
  ])("with %s", (_what, report, expected, read) => {
    const usage = completeUsage(report, read);
    expect(usage).toMatchObject(expected);
    expect(usage).toMatchObject(report);
  });

  it("has no member about costs", () => {
    const report = { cost: 0.1, cost_details: { a: 1 }, cost_in_usd_ticks: 1, upstreamCost: 1 };
    expect(completeUsage(report, { cost_usd: "0.1" })).toEqual(completeUsage({}));
  });

  it("is complete for a report that is not one", () => {
    expect(completeUsage(null)).toEqual(shown(0, 0, 0));
    expect(completeUsage({ total_tokens: "2" })).toEqual({ ...shown(0, 0, 0), total_tokens: "2" });
  });
});
