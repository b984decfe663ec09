import * as fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  anyCount,
  anyDecimal,
  anyDetails,
  anyItemized,
  anyKindUsage,
  anyMadeImage,
  anyPerImage,
  anyPerTokenKind,
  anySize,
  anyUsage,
} from "../testing/any-charge.js";
import { expectedAmount, expectedExact, isExactly, sumLines } from "../testing/expected-charge.js";
import { casesOf } from "../testing/random.js";
import { compare, toRational } from "../testing/rational.js";
import { type ChargeInput, calculateCharge, createPriceList } from "./pricing.js";
import { type BilledRequest, toSettledRecord } from "./records.js";

// Exact charges and estimates per request and per token, and values that are not prices, are the part `billing` of packages/harden.

// 55,000 cases take a few seconds, and more on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

/** Checks the property in `cases` cases, a fifth of them in `npm test`, the same ones in every run. Returns a report of the first that fails, if one does. */
function refute<Values>(cases: number, property: fc.IProperty<Values>): string | undefined {
  return fc.defaultReportMessage(fc.check(property, { numRuns: casesOf(cases) }));
}

function agrees(input: ChargeInput): boolean {
  const charge = calculateCharge(input);
  return (
    isExactly(charge.amount, expectedAmount(input)) &&
    isExactly(charge.derivation.exact, expectedExact(input)) &&
    compare(sumLines(charge), toRational(charge.amount)) === 0
  );
}

describe("a charge, against arithmetic with fractions", () => {
  it("by image size has lines that are exact and add up to the charge", () => {
    const anyMade = fc.array(anyMadeImage, { maxLength: 6 });
    const anyImageUsage = fc.option(
      fc.record({ generated_images: fc.oneof(fc.nat({ max: 8 }), anyCount) }, { requiredKeys: [] }),
      { nil: undefined },
    );
    const anyAsked = fc.record({
      reference_images: fc.option(fc.nat({ max: 14 }), { nil: undefined }),
      requested_size: fc.option(anySize, { nil: undefined }),
    });
    const property = fc.property(
      fc.tuple(anyPerImage, anyDecimal),
      anyImageUsage,
      anyMade,
      anyAsked,
      ([details, group_ratio], usage, images, asked) =>
        agrees({ details, usage, group_ratio, images, ...asked }),
    );
    expect(refute(15_000, property)).toBeUndefined();
  });

  it("by kind of token has lines that are exact and add up to the charge", () => {
    const property = fc.property(anyPerTokenKind, anyKindUsage, anyDecimal, (details, usage, group_ratio) =>
      agrees({ details, usage, group_ratio }),
    );
    expect(refute(10_000, property)).toBeUndefined();
  });
});

describe("an estimate", () => {
  const anyBounds = fc.record({
    maxImages: fc.integer({ min: 1, max: 15 }),
    maxPixels: fc.option(fc.integer({ min: 1, max: 36_000_000 }), { nil: undefined }),
  });

  it("is not exceeded by the charge of any report, unless the response holds more images", () => {
    const anyImages = fc.integer({ min: 0, max: 20 });
    const property = fc.property(
      fc.tuple(anyDetails, anyDecimal),
      anyBounds,
      anyUsage,
      anyImages,
      ([details, ratio], bounds, usage, images) => {
        const price = createPriceList({
          model_details: { m: details },
          group_ratio: { default: ratio },
        }).find("m", "default");
        const held = { ...bounds, maxImages: Math.max(bounds.maxImages, images) };
        const record = toSettledRecord(
          { ...REQUEST, bounds, price },
          { channel: "ark", upstreamModel: "m", attempts: [] },
          { status: 200, images, usage, endedAt: 0 },
        );
        return compare(toRational(record.charge ?? "0"), toRational(price.estimate(held).amount)) <= 0;
      },
    );
    expect(refute(10_000, property)).toBeUndefined();
  });
});

describe("a hold for prices by dimension", () => {
  const anyAsked = fc
    .record({
      maxImages: fc.integer({ min: 1, max: 12 }),
      maxPixels: fc.option(fc.integer({ min: 1, max: 40_000 }), { nil: undefined }),
      maxLayers: fc.nat({ max: 11 }),
      referenceImages: fc.nat({ max: 14 }),
      quality: fc.constantFrom(undefined, "low", "high", "other"),
      upstreamCalls: fc.integer({ min: 1, max: 4 }),
    })
    .map((bounds) => ({ ...bounds, maxLayers: Math.min(bounds.maxLayers, bounds.maxImages - 1) }));

  /** Bounds of tokens, with and without one for the input of each call. */
  const anyTokenBounds = fc.record(
    { maxTokensPerImage: fc.nat({ max: 300 }), maxInputTokens: fc.nat({ max: 300 }) },
    { requiredKeys: [] },
  );

  /** Reports within the bounds, and far beyond them. */
  const anyReport = fc.oneof(anyKindUsage, anyUsage, fc.record({ generated_images: fc.nat({ max: 12 }) }));

  it("is not below the charge for what was requested, whatever is reported", () => {
    const property = fc.property(
      fc.tuple(anyItemized, anyDecimal),
      anyAsked,
      anyReport,
      fc.tuple(fc.array(anyMadeImage, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), anyTokenBounds),
      ([details, ratio], asked, usage, [images, calls, tokens]) => {
        const bounds = { ...asked, ...tokens };
        const price = createPriceList({
          model_details: { m: details },
          group_ratio: { default: ratio },
        }).find("m", "default");
        const made = images.slice(0, bounds.maxImages);
        const record = toSettledRecord(
          { ...REQUEST, bounds, price },
          { channel: "ark", upstreamModel: "m", attempts: [] },
          {
            status: 200,
            images: made.length,
            made,
            usage,
            callsWithImages: Math.min(calls, bounds.upstreamCalls),
            endedAt: 0,
          },
        );
        return compare(toRational(record.charge ?? "0"), toRational(price.estimate(bounds).amount)) <= 0;
      },
    );
    expect(refute(20_000, property)).toBeUndefined();
  });
});

const REQUEST: BilledRequest = {
  id: "req_1",
  receivedAt: 0,
  time: "1970-01-01T00:00:00.000Z",
  caller: "me",
  group: "default",
  model: "m",
  operation: "generate",
  bounds: { maxImages: 1 },
  price: undefined,
};
