import { describe, expect, it } from "vitest";
import type { Usage } from "../types.js";
import type { ItemizedDerivation } from "./charge.js";
import { createPriceList } from "./pricing.js";
import { type BilledRequest, copyRecord, type SettledOutcome, toSettledRecord } from "./records.js";
import { keepCounts } from "./usage.js";

const prices = createPriceList({
  model_details: {
    byImage: { pricing_mode: "per-request", model_price: "0.04" },
    byToken: { pricing_mode: "per-token", output_token_price: "5" },
  },
});

const order = (model: string | undefined): BilledRequest => ({
  id: "req_1",
  receivedAt: Date.UTC(2026, 10, 21, 3, 4, 5, 6),
  time: "2026-11-21T03:04:05.006Z",
  caller: "me",
  group: "default",
  model: model ?? "free",
  operation: "generate",
  bounds: { maxImages: 4, maxPixels: 2048 * 2048 },
  price: model === undefined ? undefined : prices.find(model, "default"),
});

const attempts = [
  { channel: "ark-2", key: 1, status: 429, code: "ServerOverloaded", durationMs: 12 },
  { channel: "ark-1", key: 0, status: 200, durationMs: 20_000 },
];
const sentTo = { channel: "ark-1", upstreamModel: "ep-1", attempts };

const outcome = (rest: Partial<SettledOutcome>): SettledOutcome => ({
  status: 200,
  images: 1,
  endedAt: order(undefined).receivedAt + 1_500,
  ...rest,
});

describe("settle", () => {
  it.each<[string, string | undefined, Partial<SettledOutcome>, string | null, boolean | undefined]>([
    [
      "images by what was reported",
      "byImage",
      { images: 2, usage: { generated_images: 3 } },
      "0.12",
      undefined,
    ],
    ["one where images came and no count", "byImage", { images: 2 }, "0.04", undefined],
    [
      "nothing where no image came and nothing was reported",
      "byImage",
      { images: 0, status: 502 },
      "0",
      undefined,
    ],
    [
      "what was reported though no image came",
      "byImage",
      { images: 0, usage: { generated_images: 1 } },
      "0.04",
      undefined,
    ],
    ["nothing for a reported 0", "byImage", { images: 0, usage: { generated_images: 0 } }, "0", undefined],
    ["tokens", "byToken", { usage: { output_tokens: 16_384 } }, "0.08192", undefined],
    ["nothing, marked, where tokens are missing", "byToken", { usage: { generated_images: 1 } }, "0", true],
    [
      "nothing for a report without a count if no image came",
      "byImage",
      { images: 0, usage: { output_tokens: 0, total_tokens: 0 } },
      "0",
      undefined,
    ],
    [
      "nothing for a report of tokens alone if no image came",
      "byImage",
      { images: 0, usage: { output_tokens: 9, total_tokens: 9 } },
      "0",
      undefined,
    ],
    [
      "the tokens of a report without a count though no image came",
      "byToken",
      { images: 0, usage: { output_tokens: 16_384 } },
      "0.08192",
      undefined,
    ],
    [
      "nothing, unmarked, for a report of 0 images without tokens",
      "byToken",
      { images: 0, usage: { generated_images: 0 } },
      "0",
      undefined,
    ],
    [
      "nothing, marked, for a report of one image without tokens",
      "byToken",
      { images: 0, usage: { generated_images: 1 } },
      "0",
      true,
    ],
    [
      "the known tokens, marked, if those of some images are unknown",
      "byToken",
      { images: 2, usage: { generated_images: 2, output_tokens: 16_384 }, hasUnknownTokens: true },
      "0.08192",
      true,
    ],
    [
      "images unmarked, whether or not their tokens are known",
      "byImage",
      { images: 2, usage: { generated_images: 2 }, hasUnknownTokens: true },
      "0.08",
      undefined,
    ],
    [
      "nothing, unmarked, where tokens are missing and nothing was made",
      "byToken",
      { images: 0 },
      "0",
      undefined,
    ],
    ["no charge at all without billing", undefined, { usage: { generated_images: 3 } }, null, undefined],
  ])("charges %s", (_what, model, rest, charge, unpriced) => {
    const record = toSettledRecord(order(model), sentTo, outcome(rest));
    expect(record.charge).toBe(charge);
    expect(record.unpriced).toBe(unpriced);
  });

  it("is plain data that names who, what, where and how long", () => {
    const record = toSettledRecord(
      order("byImage"),
      sentTo,
      outcome({ usage: { generated_images: 1 }, upstreamRequestId: "0217" }),
    );
    expect(JSON.parse(JSON.stringify(record))).toEqual({
      state: "settled",
      id: "req_1",
      time: "2026-11-21T03:04:05.006Z",
      caller: "me",
      group: "default",
      model: "byImage",
      upstreamModel: "ep-1",
      attempts,
      channel: "ark-1",
      operation: "generate",
      status: 200,
      images: 1,
      usage: { generated_images: 1 },
      charge: "0.04",
      held: "0.16",
      derivation: {
        pricing_mode: "per-request",
        count: 1,
        count_source: "generated_images",
        model_price: "0.04",
        group_ratio: "1",
        exact: "0.04",
      },
      priceBasis: { request: { maxImages: 4, maxPixels: 4_194_304 }, made: [] },
      durationMs: 1_500,
      upstreamRequestId: "0217",
    });
  });

  it.each(["byImage", "byToken"])(
    "shares nothing with the record of a request like it, charged %s",
    (model) => {
      const usage = { generated_images: 1, output_tokens: 2 };
      const record = toSettledRecord(order(model), sentTo, outcome({ usage }));
      const before = structuredClone(record);
      Object.assign(toSettledRecord(order(model), sentTo, outcome({ usage })).derivation ?? {}, {
        exact: "9",
      });
      expect(record).toEqual(before);
      expect(toSettledRecord(order(model), sentTo, outcome({ usage }))).toEqual(before);
    },
  );

  it.each<[string, string | undefined, Partial<SettledOutcome>]>([
    ["all that can be", "byToken", { errorCode: "c", usage: { total_tokens: 1 }, upstreamRequestId: "0217" }],
    ["as little as can be", undefined, { images: 0, errorCode: undefined, usage: undefined }],
    ["one count of three", "byImage", { usage: { output_tokens: 1 } }],
    ["no tokens of a kind that costs", "byToken", { usage: { generated_images: 1 } }],
  ])("has no field that is undefined where it tells %s", (_what, model, rest) => {
    const record = toSettledRecord(order(model), sentTo, outcome(rest));
    expect(record).toStrictEqual(JSON.parse(JSON.stringify(record)));
  });
});

describe("settle, with what a family of the operator's reports", () => {
  it.each([
    ["a text", "4"],
    ["a negative number", -1],
    ["a fraction", 1.5],
    ["more than a double counts", 1e21],
    ["null", null],
  ])("charges one image where generated_images is %s, and loses no record", (_what, junk) => {
    const usage = { generated_images: junk } as unknown as Usage;
    const record = toSettledRecord(
      order("byImage"),
      { channel: "ch", upstreamModel: "um", attempts: [] },
      { status: 200, images: 1, usage, endedAt: 1 },
    );
    expect(record.charge).toBe("0.04");
    expect(record).not.toHaveProperty("usage");
  });

  it.each([
    ["nothing but junk", { generated_images: "4", output_tokens: -1, total_tokens: 2.5 }],
    ["no counts", {}],
    ["null", null],
  ])("charges nothing where no image came and the report holds %s", (_what, junk) => {
    const usage = junk as unknown as Usage;
    const record = toSettledRecord(order("byImage"), sentTo, outcome({ images: 0, usage }));
    expect(record.charge).toBe("0");
    expect(record).not.toHaveProperty("usage");
    expect(record).not.toHaveProperty("derivation");
  });
});

describe("settle, with a report of more than the request could make", () => {
  const HUGE = Number.MAX_SAFE_INTEGER;
  const TOKENS = (2048 * 2048) / 256;

  it.each<[string, string | undefined, number, Usage, Usage, string | null]>([
    [
      "the images that the request allows",
      "byImage",
      1,
      { generated_images: HUGE },
      { generated_images: 4 },
      "0.16",
    ],
    ["the images of the response", "byImage", 6, { generated_images: HUGE }, { generated_images: 6 }, "0.24"],
    [
      "as much where no image came",
      "byImage",
      0,
      { generated_images: HUGE },
      { generated_images: 4 },
      "0.16",
    ],
    [
      "the tokens of those images at their largest",
      "byToken",
      1,
      { generated_images: 1, output_tokens: HUGE, total_tokens: HUGE },
      { generated_images: 1, output_tokens: 4 * TOKENS, total_tokens: 4 * TOKENS },
      "0.32768",
    ],
    [
      "the total alone",
      "byToken",
      1,
      { output_tokens: 16_384, total_tokens: HUGE },
      { output_tokens: 16_384, total_tokens: 4 * TOKENS },
      "0.08192",
    ],
    ["the same without billing", undefined, 1, { generated_images: HUGE }, { generated_images: 4 }, null],
  ])("charges %s, and keeps the report beside it", (_what, model, images, reported, usage, charge) => {
    const record = toSettledRecord(order(model), sentTo, outcome({ images, usage: reported }));
    expect(record).toMatchObject({ charge, usage, reportedUsage: reported });
  });

  it("keeps the last hundred attempts, among them the one whose response the client got", () => {
    const many = Array.from({ length: 250 }, (_, key) => ({ channel: "ark-1", key, durationMs: 1 }));
    const record = toSettledRecord(order("byImage"), { ...sentTo, attempts: many }, outcome({}));
    expect(record.attempts?.map(({ key }) => key)).toEqual(many.slice(150).map(({ key }) => key));
  });

  it("says nothing of a report that the request could make", () => {
    const usage = { generated_images: 4, output_tokens: 4 * TOKENS, total_tokens: 4 * TOKENS };
    const record = toSettledRecord(order("byImage"), sentTo, outcome({ usage }));
    expect(record).toMatchObject({ charge: "0.16", usage });
    expect(record).not.toHaveProperty("reportedUsage");
  });

  it("takes an image of unknown size for one of 4096 × 4096", () => {
    const unknown = { ...order("byToken"), bounds: { maxImages: 1 } };
    const record = toSettledRecord(unknown, sentTo, outcome({ usage: { output_tokens: HUGE } }));
    expect(record.usage).toEqual({ output_tokens: 65_536 });
  });
});

describe("a charge by image size", () => {
  it.each([null, "x", 5, [null], [{ size: 5 }], [{ size: {} }], {}])(
    "has the highest price, and no record is lost, if a family tells %j about its images",
    (made) => {
      const price = createPriceList({
        model_details: { m: { pricing_mode: "per-request", image_prices: [{ price: "2" }] } },
      }).find("m", "default");
      const record = toSettledRecord(
        { ...order("byImage"), price },
        sentTo,
        outcome({ made: made as never }),
      );
      expect(record.charge).toBe("2");
    },
  );
});

describe("the usage of a record", () => {
  it("keeps what the provider reported besides, in a bounded size", () => {
    const manyTools = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`tool-${index}`, index]));
    const tool_usage = { ...manyTools, "\0": 1, ["x".repeat(65)]: 1, wrong: -1 };
    const usage = { generated_images: 1, input_images: 2, input_image_count: 3, tool_usage };
    const kept = toSettledRecord(order("byImage"), sentTo, outcome({ usage })).usage;
    expect(kept).toMatchObject({ generated_images: 1, input_images: 2, input_image_count: 3 });
    expect(Object.keys(kept?.tool_usage ?? {})).toHaveLength(16);
    expect(Object.keys(kept?.tool_usage ?? {})).not.toContain("\0");
  });

  it("keeps the provider's cost if it is a plain decimal, also alone", () => {
    expect(keepCounts({ cost_usd: "0.0250" })).toEqual({ cost_usd: "0.0250" });
    for (const cost_usd of ["-1", "1e3", "", ".5", "9".repeat(21), 0.5 as never]) {
      expect(keepCounts({ generated_images: 1, cost_usd })).toEqual({ generated_images: 1 });
    }
  });

  it.each([{ input_images: 2 }, { tool_usage: { web_search: 1 } }, { tool_usage: "x" as never }])(
    "is absent if the provider reported nothing that can be charged: %j",
    (usage) => {
      expect(toSettledRecord(order("byImage"), sentTo, outcome({ usage }))).not.toHaveProperty("usage");
    },
  );

  it("is bounded by the tokens that the family names for an image", () => {
    const usage = { output_tokens: 400, input_text_tokens: 50, cached_input_tokens: 90 };
    const settle = (maxTokensPerImage: number) => {
      const bounds = { maxImages: 1, maxPixels: 256, maxTokensPerImage };
      return toSettledRecord({ ...order("byToken"), bounds }, sentTo, outcome({ usage }));
    };
    expect(settle(540).usage).toEqual(usage);
    expect(settle(500)).toMatchObject({
      usage: { output_tokens: 400, input_text_tokens: 50, cached_input_tokens: 50 },
      reportedUsage: usage,
    });
  });

  it("has kinds of tokens that are together no more than the request could use", () => {
    const usage = {
      output_tokens: 5,
      output_image_tokens: 9e9,
      input_text_tokens: 9e9,
      cached_input_tokens: 9e9,
    };
    const record = toSettledRecord(order("byImage"), sentTo, outcome({ usage }));
    const { output_image_tokens = 0, input_text_tokens = 0, cached_input_tokens = 0 } = record.usage ?? {};
    expect(output_image_tokens).toBeGreaterThan(0);
    expect([input_text_tokens, cached_input_tokens]).toEqual([0, 0]);
    expect(record.reportedUsage).toEqual(usage);
  });

  it("shares nothing with the copy of its record", () => {
    const usage = { generated_images: 1, tool_usage: { web_search: 1 } };
    const record = toSettledRecord(order("byImage"), sentTo, outcome({ usage }));
    const derivation: ItemizedDerivation = {
      pricing_mode: "per-request",
      lines: [{ what: "rounding", amount: "0" }],
      group_ratio: "1",
      exact: "0",
    };
    const copy = copyRecord({ ...record, derivation });
    expect(copy).toEqual({ ...record, derivation });
    expect(copy.usage?.tool_usage).not.toBe(record.usage?.tool_usage);
    expect(copy.derivation.lines[0]).not.toBe(derivation.lines[0]);
  });
});
