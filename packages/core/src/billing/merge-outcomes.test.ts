import { describe, expect, it } from "vitest";
import type { Usage } from "../types.js";
import { mergeOutcomes } from "./merge-outcomes.js";
import type { Outcome } from "./outcome.js";
import { calculateCharge, createPriceList } from "./pricing.js";
import { toSettledRecord } from "./records.js";

/** One call can make one image of 256 × 10 pixels, that is 10 tokens. */
const BOUNDS = { maxImages: 1, maxPixels: 2_560 };

const call = (images: number, usage?: Usage, rest: Partial<Outcome> = {}): Outcome => ({
  status: 200,
  images,
  usage,
  isConclusive: true,
  ...rest,
});

interface Row {
  readonly name: string;
  readonly calls: readonly Outcome[];
  readonly images: number;
  readonly usage: Usage | undefined;
  readonly reportedUsage?: Usage;
  readonly hasUnknownTokens?: boolean;
}

const rows: readonly Row[] = [
  {
    name: "reports of images",
    calls: [call(1, { generated_images: 1 }), call(1, { generated_images: 1 })],
    images: 2,
    usage: { generated_images: 2 },
    hasUnknownTokens: true,
  },
  {
    name: "an image without a report counts one",
    calls: [call(1), call(1, { generated_images: 1 }), call(0)],
    images: 2,
    usage: { generated_images: 2 },
    hasUnknownTokens: true,
  },
  {
    name: "an image with a report of tokens only counts one",
    calls: [call(1, { output_tokens: 5 }), call(1, { generated_images: 1, output_tokens: 6 })],
    images: 2,
    usage: { generated_images: 2, output_tokens: 11 },
  },
  {
    name: "an explicit 0 stays 0",
    calls: [
      call(1, { generated_images: 0, output_tokens: 0 }),
      call(1, { generated_images: 1, output_tokens: 6 }),
    ],
    images: 2,
    usage: { generated_images: 1, output_tokens: 6 },
  },
  { name: "no image and no report", calls: [call(0), call(0)], images: 0, usage: undefined },
  {
    name: "no image, and a report of tokens only",
    calls: [call(0), call(0, { output_tokens: 4 })],
    images: 0,
    usage: { output_tokens: 4 },
  },
  {
    name: "no image, and a report of one",
    calls: [call(0, { generated_images: 1 }), call(0)],
    images: 0,
    usage: { generated_images: 1 },
    hasUnknownTokens: true,
  },
  {
    name: "reports of all counts",
    calls: [
      call(1, { generated_images: 1, output_tokens: 5, total_tokens: 7 }),
      call(1, { generated_images: 1, output_tokens: 6, total_tokens: 8 }),
    ],
    images: 2,
    usage: { generated_images: 2, output_tokens: 11, total_tokens: 15 },
  },
  {
    name: "a total without output tokens is all output, also beside another report",
    calls: [
      call(1, { generated_images: 1, output_tokens: 5, total_tokens: 7 }),
      call(1, { generated_images: 1, total_tokens: 8 }),
    ],
    images: 2,
    usage: { generated_images: 2, output_tokens: 13, total_tokens: 15 },
  },
  {
    name: "totals only",
    calls: [call(1, { total_tokens: 7 }), call(1, { total_tokens: 8 })],
    images: 2,
    usage: { generated_images: 2, total_tokens: 15 },
  },
  {
    name: "a total below the output of its call does not reduce the total of another call",
    calls: [call(1, { output_tokens: 9, total_tokens: 2 }), call(1, { output_tokens: 1, total_tokens: 6 })],
    images: 2,
    usage: { generated_images: 2, output_tokens: 10, total_tokens: 15 },
  },
  {
    name: "tokens of one call are unknown",
    calls: [call(1, { generated_images: 1, output_tokens: 5 }), call(1, { generated_images: 1 })],
    images: 2,
    usage: { generated_images: 2, output_tokens: 5 },
    hasUnknownTokens: true,
  },
  {
    name: "the report of one call is cut to what one call can make, although the sum would fit",
    calls: [call(1, { generated_images: 3, output_tokens: 30 }), call(0), call(0)],
    images: 1,
    usage: { generated_images: 1, output_tokens: 10 },
    reportedUsage: { generated_images: 3, output_tokens: 30 },
  },
  {
    name: "a report of as many images as came is not cut",
    calls: [
      call(2, { generated_images: 2, output_tokens: 20 }),
      call(1, { generated_images: 1, output_tokens: 10 }),
    ],
    images: 3,
    usage: { generated_images: 3, output_tokens: 30 },
  },
  {
    name: "counts that are not whole numbers are not counts",
    calls: [call(1, { generated_images: -1, output_tokens: 1.5 }), call(1, { generated_images: Number.NaN })],
    images: 2,
    usage: { generated_images: 2 },
    hasUnknownTokens: true,
  },
];

describe("several outcomes", () => {
  it.each(rows)("$name", ({ calls, images, usage, reportedUsage, hasUnknownTokens = false }) => {
    expect(mergeOutcomes(calls, BOUNDS)).toMatchObject({ images, usage, reportedUsage, hasUnknownTokens });
  });

  it("are conclusive if all of them are, and unknown if one of them is", () => {
    const known = call(1);
    expect(mergeOutcomes([known, known], BOUNDS)).toMatchObject({ isConclusive: true, isUnknown: false });
    expect(mergeOutcomes([known, call(0, undefined, { isConclusive: false })], BOUNDS)).toMatchObject({
      isConclusive: false,
      isUnknown: false,
    });
    expect(mergeOutcomes([known, call(0, undefined, { isUnknown: true })], BOUNDS).isUnknown).toBe(true);
  });

  it("list the request ids in the order of the calls", () => {
    const calls = [
      call(1, undefined, { upstreamRequestId: "b" }),
      call(0),
      call(1, undefined, { upstreamRequestId: "a" }),
    ];
    expect(mergeOutcomes(calls, BOUNDS).upstreamRequestIds).toEqual(["b", "a"]);
  });

  it("have the charged images of all calls, in order, and count the calls that made one", () => {
    const calls = [
      call(1, { generated_images: 1 }, { made: [{ size: "1x1" }] }),
      call(0),
      call(1, { generated_images: 0 }, { made: [{ size: "2x2" }] }),
      call(1, undefined, { made: [{ size: "3x3" }] }),
    ];
    expect(mergeOutcomes(calls, BOUNDS)).toMatchObject({
      made: [{ size: "1x1" }, { size: "3x3" }],
      callsWithImages: 2,
    });
  });

  it("add up what the provider reported besides", () => {
    const usage = {
      generated_images: 1,
      output_image_tokens: 2,
      input_images: 3,
      tool_usage: { search: 1 },
      cost_usd: "0.1",
    };
    const other = {
      generated_images: 1,
      input_text_tokens: 4,
      tool_usage: { search: 2, math: 1 },
      cost_usd: "0.025",
    };
    expect(mergeOutcomes([call(1, usage), call(1, other)], BOUNDS).usage).toEqual({
      generated_images: 2,
      output_image_tokens: 2,
      input_text_tokens: 4,
      input_images: 3,
      tool_usage: { search: 3, math: 1 },
      cost_usd: "0.125",
    });
  });

  it("cost what their calls cost", () => {
    const details = [
      { pricing_mode: "per-request", model_price: "0.25" },
      { pricing_mode: "per-token", output_token_price: "10", input_token_price: "3" },
    ] as const;
    const counts = [undefined, 0, 4, 9];
    const reports = counts.flatMap((output) => counts.map((total) => call(1, toUsage(output, total))));
    const pairs = reports.flatMap((a) => reports.map((b) => [a, b]));

    for (const detail of details) {
      const price = (usage: Usage | undefined): number =>
        Number(calculateCharge({ details: detail, usage }).amount);
      const together = pairs.map((calls) => price(mergeOutcomes(calls, BOUNDS).usage));
      const apart = pairs.map((calls) => calls.reduce((total, { usage }) => total + price(usage), 0));
      expect(together.map((amount) => amount.toFixed(9))).toEqual(apart.map((amount) => amount.toFixed(9)));
    }
  });
});

describe("several outcomes with prices by size", () => {
  const details = {
    pricing_mode: "per-request",
    image_prices: [{ up_to_pixels: 100, price: "0.3" }, { price: "0.6" }],
    layer_price: "0.15",
    reference_image_price: "0.003",
  } as const;
  const small = { size: "10x10" };
  const large = { size: "10x11" };
  const layer = { size: "10x10", isLayer: true };

  const charge = (outcome: Partial<Outcome>, calls: number, layers: number): string => {
    const price = createPriceList({ model_details: { m: details } }).find("m", "default");
    const maxLayers = calls * layers;
    const bounds = { maxImages: calls + maxLayers, maxLayers, referenceImages: 1, upstreamCalls: calls };
    const request = { ...REQUEST, price, bounds };
    return toSettledRecord(request, SENT_TO, { status: 200, images: 0, ...outcome, endedAt: 0 }).charge ?? "";
  };

  it.each<[name: string, calls: readonly Outcome[], layers: number, cost: string]>([
    [
      "a large image that is not counted beside a small one",
      [
        call(1, { generated_images: 0 }, { made: [large] }),
        call(1, { generated_images: 1 }, { made: [small] }),
      ],
      0,
      "0.303",
    ],
    [
      "an image that is not counted beside an image with a layer",
      [
        call(1, { generated_images: 0 }, { made: [small] }),
        call(2, { generated_images: 2 }, { made: [small, layer] }),
        call(1, { generated_images: 1 }, { made: [small] }),
      ],
      3,
      "0.756",
    ],
    [
      "layers that are not counted beside an image that did not come",
      [
        call(4, { generated_images: 1 }, { made: [small, layer, layer, layer] }),
        call(0, { generated_images: 1 }, { made: [] }),
      ],
      3,
      "1.356",
    ],
    [
      "a layer that did not come beside a call that made nothing",
      [call(0), call(1, { generated_images: 1 }, { made: [small] }), call(0, { generated_images: 2 })],
      3,
      "1.056",
    ],
  ])("cost what their calls cost: %s", (_name, calls, layers, cost) => {
    const ofOne = { maxImages: 1 + layers, maxLayers: layers };
    const apart = calls.map((outcome) => charge(outcome, 1, layers));
    expect(apart.reduce((sum, amount) => sum + Number(amount), 0)).toBeCloseTo(Number(cost), 9);
    expect(charge(mergeOutcomes(calls, ofOne), calls.length, layers)).toBe(cost);
  });
});

const SENT_TO = { channel: "ark", upstreamModel: "m", attempts: [] };

const REQUEST = {
  id: "req_1",
  receivedAt: 0,
  time: "1970-01-01T00:00:00.000Z",
  caller: "me",
  group: "default",
  model: "m",
  operation: "generate",
} as const;

/** A report without a number of images. */
function toUsage(output: number | undefined, total: number | undefined): Usage {
  return {
    ...(output !== undefined && { output_tokens: output }),
    ...(total !== undefined && { total_tokens: total }),
  };
}
