import { expect, it } from "vitest";
import type { ChargeLine } from "../../billing/charge.js";
import type { ModelDetails } from "../../billing/model-details.js";
import { toPriceBasis } from "../../billing/price-basis.js";
import { calculateCharge, estimateCharge } from "../../billing/pricing.js";
import type { SettledRecord, UsageRecord } from "../../billing/records.js";
import { createRepricer, repriceRecords } from "./reprice.js";

const FACTS = {
  time: "2026-01-31T12:00:00.000Z",
  caller: "me",
  group: "default",
  operation: "generate",
} as const;

/** The record of a request with this price. */
function recordOf(
  rest: Partial<SettledRecord>,
  details?: ModelDetails,
  images?: { size?: string }[],
): SettledRecord {
  const made = { state: "settled", ...FACTS, id: "a", model: "m", channel: "c", upstreamModel: "u" } as const;
  const charge = details && calculateCharge({ details, usage: rest.usage, images });
  const record = {
    ...made,
    status: 200,
    images: 1,
    durationMs: 1,
    charge: charge?.amount ?? null,
    ...(charge && { derivation: charge.derivation }),
    ...rest,
  };
  const { usage } = record;
  const priceBasis = toPriceBasis({ ...record, usage, request: { maxImages: 4 }, made: images ?? [] });
  return { ...record, ...(priceBasis && { priceBasis }) };
}

/** The same record as an older version wrote it. */
function older({ priceBasis: _priceBasis, ...record }: SettledRecord): SettledRecord {
  return record;
}

const flat = (model_price: string): ModelDetails => ({ pricing_mode: "per-request", model_price });
const tiered: ModelDetails = {
  pricing_mode: "per-request",
  image_prices: [{ up_to_pixels: 1_048_576, price: "0.02" }, { price: "0.05" }],
};
const byToken: ModelDetails = { pricing_mode: "per-token", output_token_price: "10" };
const withReferences: ModelDetails = {
  pricing_mode: "per-request",
  image_prices: [{ price: "0.02" }],
  reference_image_price: "0.003",
};
const two = { usage: { generated_images: 2 }, images: 2 };
const tokens = { usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 } };

/** A record of a request for which the provider reported nothing. */
function itemized(charge: string, ...lines: ChargeLine[]): SettledRecord {
  const derivation = { pricing_mode: "per-request", lines, group_ratio: "1", exact: charge } as const;
  return { ...recordOf({ images: 0, charge }), derivation };
}

/** A request with an unknown result that was charged as the hold. */
function holdOf(details: ModelDetails, maxImages: number): SettledRecord {
  const request = { maxImages, maxPixels: 4_194_304 };
  const { amount, derivation } = estimateCharge({ details, request });
  const priceBasis = { request, made: [], chargesHold: true };
  return { ...recordOf({ images: 0, charge: amount }), derivation, priceBasis };
}

const chargedHold = holdOf(flat("0.02"), 4);
const chargedTokens = holdOf(byToken, 1);
const chargedTiers = holdOf(tiered, 4);
const chargedReferences = itemized(
  "0.026",
  { what: "image", count: 1, source: "default", unit_price: "0.02", amount: "0.02" },
  { what: "reference_image", count: 2, source: "request", unit_price: "0.003", amount: "0.006" },
);
const referenced: SettledRecord = {
  ...recordOf(two, flat("0.04")),
  priceBasis: { request: { maxImages: 2, referenceImages: 3 }, made: [{ count: 2 }] },
};
const sized = recordOf(two, tiered, [{ size: "1024x1024" }, { size: "2048x2048" }]);
const twoSizes: ModelDetails = {
  ...tiered,
  image_prices: [{ up_to_pixels: 1_048_576, price: "0.1" }, { price: "1" }],
};

it.each<[string, UsageRecord, ModelDetails, string, number]>([
  ["a flat price", recordOf(two, flat("0.04")), flat("0.03"), "0.06", 0],
  ["a flat price, without billing before", recordOf(two), flat("0.03"), "0.06", 0],
  ["tokens", recordOf(tokens, flat("0.04")), byToken, "0.16384", 0],
  ["tokens that were not reported", recordOf(two, flat("0.04")), byToken, "0", 1],
  ["the count of tokens as images", recordOf(tokens, byToken), flat("0.03"), "0.03", 0],
  ["the size of each image", sized, twoSizes, "1.1", 0],
  ["sizes that the response did not state", recordOf(two, flat("0.04")), tiered, "0.1", 0],
  ["references of the request", referenced, withReferences, "0.049", 0],
  ["the count of a hold that was charged in full", chargedHold, flat("0.03"), "0.12", 0],
  ["the tokens of a hold that was charged by image", chargedHold, byToken, "0.65536", 0],
  ["the tokens of a hold that was charged in full", chargedTokens, byToken, "0.16384", 0],
  ["the sizes of an older record", older(sized), twoSizes, "1.1", 1],
  ["sizes that an older record does not have", older(recordOf(two, flat("0.04"))), tiered, "0.1", 1],
  ["references that an older record does not have", older(referenced), withReferences, "0.04", 1],
  [
    "references that the provider of an older record reported",
    older(recordOf({ ...two, usage: { generated_images: 2, input_images: 3 } }, flat("0.04"))),
    withReferences,
    "0.049",
    1,
  ],
  ["the count of an older record", older(recordOf(two, tiered)), flat("0.03"), "0.06", 0],
  ["no count of an older record", older(recordOf({ images: 2 }, tiered)), flat("0.03"), "0.03", 0],
  [
    "the tokens of an older record of several calls",
    older(recordOf({ ...tokens, upstreamRequestIds: ["a", "b"] }, flat("0.04"))),
    byToken,
    "0.16384",
    1,
  ],
  ["an older hold of images that was charged in full", older(chargedHold), flat("0.03"), "0.08", 1],
  ["an older hold of tokens that was charged in full", older(chargedTokens), flat("0.03"), "0.16384", 1],
  ["an older hold of tiers that was charged in full", older(chargedTiers), flat("0.03"), "0.2", 1],
  [
    "references of an older record of which some may have been free",
    { ...chargedReferences, images: 1 },
    withReferences,
    "0.026",
    1,
  ],
  ["a failure", recordOf({ images: 0, charge: "0", status: 502 }), flat("0.03"), "0", 0],
])("a request is repriced by %s", async (_title, record, details, newCharge, estimated) => {
  const repriced = await repriceRecords([record], { model_details: { m: details } });
  expect(repriced).toMatchObject({
    requests: 1,
    charge: record.charge ?? "0",
    newCharge,
    estimated,
    kept: 0,
  });
});

it("with the prices of the charges, nothing changes", async () => {
  const records = [
    recordOf(two, tiered, [{ size: "1024x1024" }, { size: "2048x2048" }]),
    recordOf({ ...two, images: 0 }, tiered),
    older(recordOf({}, tiered, [{ size: "512x512" }])),
    recordOf({ usage: { output_tokens: 5 } }, tiered, [{}]),
  ];
  const { charge, newCharge } = await repriceRecords(records, { model_details: { m: tiered } });
  expect(newCharge).toBe(charge);
});

it("requests without a price or an outcome keep their charge, and each model and caller has its sums", async () => {
  const lost = {
    ...FACTS,
    state: "unresolved",
    id: "l",
    model: "m",
    images: 0,
    charge: "0.5",
    held: "0.5",
  } as const;
  const records = async function* (): AsyncGenerator<UsageRecord> {
    yield recordOf(two, flat("0.04"));
    yield { ...recordOf(two, flat("0.04")), model: "other" };
    yield { ...recordOf(two, flat("0.04")), group: "vip" };
    yield lost;
  };
  const repriced = await repriceRecords(records(), { model_details: { m: flat("0.01") } });
  expect(repriced).toEqual({
    requests: 4,
    charge: "0.74",
    newCharge: "0.68",
    estimated: 0,
    kept: 3,
    keptBecause: { outcome: 1, model: 1, group: 1 },
    models: [
      {
        model: "m",
        requests: 3,
        charge: "0.66",
        newCharge: "0.6",
        estimated: 0,
        kept: 2,
        keptBecause: { outcome: 1, model: 0, group: 1 },
      },
      {
        model: "other",
        requests: 1,
        charge: "0.08",
        newCharge: "0.08",
        estimated: 0,
        kept: 1,
        keptBecause: { outcome: 0, model: 1, group: 0 },
      },
    ],
    callers: [expect.objectContaining({ caller: "me", requests: 4, newCharge: "0.68" })],
  });
});

it("a repricer shows the sums of the records so far, which later records do not change", () => {
  const repricer = createRepricer({ model_details: { m: flat("0.01") } });
  expect(repricer.sum()).toMatchObject({ requests: 0, charge: "0", models: [], callers: [] });
  repricer.add({ ...recordOf(two, flat("0.04")), caller: "you" });
  const first = repricer.sum();
  repricer.add(recordOf(two, flat("0.04")));
  repricer.add({ ...recordOf(two, flat("0.04")), model: "other" });
  expect(first).toMatchObject({ requests: 1, newCharge: "0.02", keptBecause: { model: 0 } });
  expect(repricer.sum().callers).toMatchObject([
    { caller: "me", requests: 2, charge: "0.16", newCharge: "0.1" },
    { caller: "you", requests: 1, charge: "0.08", newCharge: "0.02" },
  ]);
});

it("a price that is not usable is an error", async () => {
  const prices = { model_details: { m: flat("free") } };
  await expect(repriceRecords([recordOf(two)], prices)).rejects.toThrow(RangeError);
});
