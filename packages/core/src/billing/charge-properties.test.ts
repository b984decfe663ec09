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
  anyPerRequest,
  anyPerToken,
  anyPerTokenKind,
  anySize,
  anyUsage,
} from "../testing/any-charge.js";
import { expectedAmount, expectedExact, isAtMost, isExactly, sumLines } from "../testing/expected-charge.js";
import { casesOf } from "../testing/random.js";
import { add, compare, multiply, type Rational, toRational } from "../testing/rational.js";
import type { Usage } from "../types.js";
import type { Charge } from "./charge.js";
import type { PerRequestDetails } from "./model-details.js";
import { type ChargeInput, calculateCharge, createPriceList, estimateCharge } from "./pricing.js";
import { type BilledRequest, toSettledRecord } from "./records.js";

// 100,000 cases take a few seconds, and more on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

/** Checks the property in `cases` cases, a fifth of them in `npm test`, the same ones in every run. Returns a report of the first that fails, if one does. */
function refute<Values>(cases: number, property: fc.IProperty<Values>): string | undefined {
  return fc.defaultReportMessage(fc.check(property, { numRuns: casesOf(cases) }));
}

/** True where the function throws a RangeError of a message that a log can hold. */
function throwsRangeError(run: () => unknown): boolean {
  try {
    run();
    return false;
  } catch (error) {
    return error instanceof RangeError && error.message.length < 200;
  }
}

const perRequest = (model_price: string | number, decimal_places?: number): PerRequestDetails => ({
  pricing_mode: "per-request",
  model_price,
  decimal_places,
});

function agrees(input: ChargeInput): boolean {
  const { amount, derivation } = calculateCharge(input);
  return isExactly(amount, expectedAmount(input)) && isExactly(derivation.exact, expectedExact(input));
}

function agreesByLine(input: ChargeInput): boolean {
  const charge = calculateCharge(input);
  return agrees(input) && compare(sumLines(charge), toRational(charge.amount)) === 0;
}

describe("a charge, against arithmetic with fractions", () => {
  it.each([
    ["per request", anyPerRequest],
    ["per token", anyPerToken],
  ])("%s is exact, and rounded once, half up, to any number of places", (_mode, someDetails) => {
    const property = fc.property(someDetails, anyUsage, anyDecimal, (details, usage, group_ratio) =>
      agrees({ details, usage, group_ratio }),
    );
    expect(refute(25_000, property)).toBeUndefined();
  });

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
        agreesByLine({ details, usage, group_ratio, images, ...asked }),
    );
    expect(refute(15_000, property)).toBeUndefined();
  });

  it("by kind of token has lines that are exact and add up to the charge", () => {
    const property = fc.property(anyPerTokenKind, anyKindUsage, anyDecimal, (details, usage, group_ratio) =>
      agreesByLine({ details, usage, group_ratio }),
    );
    expect(refute(10_000, property)).toBeUndefined();
  });

  it("is rounded up at the half and down right below it, at every number of places", () => {
    const property = fc.property(fc.nat(), fc.nat({ max: 28 }), fc.boolean(), (whole, places, isHalf) => {
      const price = `${whole}.${"0".repeat(places)}${isHalf ? "50" : "49"}`;
      const { amount } = calculateCharge({ details: perRequest(price, places), usage: undefined });
      const unit = { numerator: isHalf ? 1n : 0n, denominator: 10n ** BigInt(places) };
      return isExactly(amount, add(toRational(whole), unit));
    });
    expect(refute(5_000, property)).toBeUndefined();
  });

  it("takes a number as its shortest decimal text, and refuses it where that is too long", () => {
    const anyNumber = fc.oneof(
      withExponent(fc.maxSafeNat()),
      withExponent(fc.nat({ max: 999 })),
      fc.double({ min: 0, noDefaultInfinity: true, noNaN: true }),
    );
    const property = fc.property(anyNumber, anyCount, (number, images) => {
      const value = toRational(number);
      const input = { details: perRequest(number), usage: { generated_images: images }, group_ratio: number };
      return hasTooManyDigits(value)
        ? throwsRangeError(() => calculateCharge(input))
        : isExactly(calculateCharge(input).amount, multiply(value, value, toRational(images)));
    });
    expect(refute(10_000, property)).toBeUndefined();
  });

  it("does not depend on zeros before and after the digits", () => {
    const parts = fc.tuple(fc.nat(), fc.stringMatching(/^\d{6}$/), fc.nat({ max: 20 }), fc.nat({ max: 24 }));
    const property = fc.property(parts, parts, anyCount, (price, ratio, images) => {
      const [plain, padded] = [toPlainText, toPaddedText].map((toText) =>
        calculateCharge({
          details: perRequest(toText(...price)),
          usage: { generated_images: images },
          group_ratio: toText(...ratio),
        }),
      );
      expect(padded).toEqual(plain);
    });
    expect(refute(5_000, property)).toBeUndefined();
  });
});

function withExponent(digits: fc.Arbitrary<number>): fc.Arbitrary<number> {
  const exponents = fc.integer({ min: -40, max: 29 });
  return fc.tuple(digits, exponents).map(([value, exponent]) => Number(`${value}e${exponent}`));
}

function hasTooManyDigits({ numerator, denominator }: Rational): boolean {
  return numerator >= 10n ** 30n * denominator || (numerator * 10n ** 30n) % denominator !== 0n;
}

const toPlainText = (whole: number, fraction: string): string => `${whole}.${fraction}`;

const toPaddedText = (whole: number, fraction: string, before: number, after: number): string =>
  `${"0".repeat(before)}${whole}.${fraction}${"0".repeat(after)}`;

function report(output: number, other: number): Usage {
  return { generated_images: output, output_tokens: output, total_tokens: output + other };
}

describe("a charge, beside another", () => {
  /** Two numbers whose sum with two others can still be counted. */
  const anyPart = fc.tuple(fc.nat({ max: 2 ** 51 }), fc.nat({ max: 2 ** 51 }));

  it("is not less for more of anything", () => {
    const property = fc.property(anyDetails, anyDecimal, anyPart, anyPart, (details, group_ratio, a, b) => {
      const less = { details, group_ratio, usage: report(...a) };
      const more = { details, group_ratio, usage: report(a[0] + b[0], a[1] + b[1]) };
      return isAtMost(calculateCharge(less), calculateCharge(more));
    });
    expect(refute(10_000, property)).toBeUndefined();
  });

  it("adds up to the charge of both together, where nothing is rounded", () => {
    const property = fc.property(anyDetails, anyDecimal, anyPart, anyPart, (rounded, group_ratio, a, b) => {
      const details = { ...rounded, decimal_places: undefined };
      const charge = (output: number, other: number): Rational =>
        toRational(calculateCharge({ details, group_ratio, usage: report(output, other) }).amount);
      return compare(add(charge(...a), charge(...b)), charge(a[0] + b[0], a[1] + b[1])) === 0;
    });
    expect(refute(5_000, property)).toBeUndefined();
  });
});

describe("an estimate", () => {
  const anyBounds = fc.record({
    maxImages: fc.integer({ min: 1, max: 15 }),
    maxPixels: fc.option(fc.integer({ min: 1, max: 36_000_000 }), { nil: undefined }),
  });

  /** Bounds, and the pixels of the images that were made within them. */
  const anyMade = anyBounds.chain((request) =>
    fc.record({
      request: fc.constant(request),
      pixels: fc.array(fc.integer({ min: 1, max: request.maxPixels ?? 4096 * 4096 }), {
        maxLength: request.maxImages,
        size: "max",
      }),
    }),
  );

  const anyReported = fc.subarray(["generated_images", "output_tokens", "total_tokens"] as const);

  it("is never below the charge for what the request makes, whatever of it is reported", () => {
    const property = fc.property(
      fc.tuple(anyDetails, anyDecimal),
      anyMade,
      anyReported,
      ([details, group_ratio], { request, pixels }, reported) => {
        const tokens = Math.floor(pixels.reduce((sum, ofOne) => sum + ofOne, 0) / 256);
        const made = { generated_images: pixels.length, output_tokens: tokens, total_tokens: tokens };
        const usage = Object.fromEntries(reported.map((name) => [name, made[name]]));
        const charge = calculateCharge({ details, group_ratio, usage });
        return isAtMost(charge, estimateCharge({ details, group_ratio, request }));
      },
    );
    expect(refute(12_000, property)).toBeUndefined();
  });

  it("is the charge for all images at their largest, rounded as a charge is", () => {
    const property = fc.property(anyDetails, anyDecimal, anyBounds, (details, group_ratio, request) => {
      const tokens = request.maxImages * Math.ceil((request.maxPixels ?? 4096 * 4096) / 256);
      const { amount } = estimateCharge({ details, group_ratio, request });
      const most = [0, tokens].map((output_tokens) => {
        const usage = { generated_images: request.maxImages, output_tokens, total_tokens: tokens };
        return expectedAmount({ details, group_ratio, usage });
      });
      return (
        most.some((of) => isExactly(amount, of)) && most.every((of) => compare(of, toRational(amount)) <= 0)
      );
    });
    expect(refute(3_000, property)).toBeUndefined();
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

describe("any value for a price or a ratio", () => {
  it("is a number or a plain decimal, or is refused in a short message", () => {
    const anything = fc.oneof(
      fc.anything({ withBigInt: true, withNullPrototype: true, withObjectString: true }),
      fc.string({ unit: "binary" }),
      fc.stringMatching(/^[-+ .\d_exn]{1,8}$/),
    );
    const property = fc.property(anything, fc.boolean(), (value, isRatio) => {
      const text = value as string;
      const run = (): Charge =>
        calculateCharge({
          details: perRequest(isRatio ? "1" : text),
          usage: undefined,
          // The default is for a ratio that is absent, not for one that is meant to be refused.
          group_ratio: isRatio ? (text ?? "absent") : "1",
        });
      const isMeant = typeof value === "string" ? /^\d+(?:\.\d+)?$/.test(text) : typeof value === "number";
      return throwsRangeError(run) || (isMeant && isExactly(run().amount, toRational(text)));
    });
    expect(refute(5_000, property)).toBeUndefined();
  });
});
