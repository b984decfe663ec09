import { describe, expect, it } from "vitest";
import type { Usage } from "../types.js";
import type { ModelDetails } from "./model-details.js";
import { calculateCharge } from "./pricing.js";

const perRequest = (model_price: string | number, decimal_places?: number): ModelDetails => ({
  pricing_mode: "per-request",
  model_price,
  decimal_places,
});

const perToken = (
  output_token_price: string,
  input_token_price?: string,
  decimal_places?: number,
): ModelDetails => ({
  pricing_mode: "per-token",
  output_token_price,
  input_token_price,
  decimal_places,
});

describe("a charge per request", () => {
  it.each<[string, ModelDetails, Usage | undefined, string | number | undefined, string]>([
    ["price × images × ratio", perRequest("0.04"), { generated_images: 4 }, "0.8", "0.128"],
    ["one image where nothing was reported", perRequest("0.04"), undefined, "1", "0.04"],
    ["one image where only tokens were reported", perRequest("0.04"), { total_tokens: 9 }, "1", "0.04"],
    ["nothing for an explicit 0", perRequest("0.04"), { generated_images: 0 }, "1", "0"],
    ["a ratio of 1 by default", perRequest("0.04"), { generated_images: 2 }, undefined, "0.08"],
    ["nothing at a ratio of 0", perRequest("0.04"), { generated_images: 2 }, "0", "0"],
    ["nothing at a price of 0", perRequest("0"), { generated_images: 2 }, "1.5", "0"],
    ["numbers as their shortest text", perRequest(0.1), { generated_images: 3 }, 0.1, "0.03"],
    ["small numbers without an exponent", perRequest(1e-7), { generated_images: 1 }, "1", "0.0000001"],
    [
      "large numbers without an exponent",
      perRequest(1e21),
      { generated_images: 2 },
      "1",
      "2000000000000000000000",
    ],
    [
      "every digit",
      perRequest("0.123456789012345678"),
      { generated_images: 3 },
      "1.1",
      "0.4074074037407407374",
    ],
    [
      "leading and trailing zeros as what they mean",
      perRequest("00.0400"),
      { generated_images: 1 },
      "01.0",
      "0.04",
    ],
    ["rounded half up", perRequest("0.005", 2), { generated_images: 1 }, "1", "0.01"],
    ["rounded down below half", perRequest("0.00499", 2), { generated_images: 1 }, "1", "0"],
    ["rounded half up, not to even", perRequest("0.025", 2), { generated_images: 1 }, "1", "0.03"],
    ["rounded once, at the end", perRequest("0.004", 2), { generated_images: 3 }, "1", "0.01"],
    ["rounded to whole units", perRequest("0.5", 0), { generated_images: 1 }, "1", "1"],
    ["no zeros added by the rounding", perRequest("2", 2), { generated_images: 1 }, "1", "2"],
  ])("is %s", (_what, details, usage, group_ratio, amount) => {
    expect(calculateCharge({ details, usage, group_ratio }).amount).toBe(amount);
  });

  it("says where each number came from", () => {
    expect(
      calculateCharge({ details: perRequest("0.045", 2), usage: { generated_images: 3 }, group_ratio: "0.9" })
        .derivation,
    ).toEqual({
      pricing_mode: "per-request",
      count: 3,
      count_source: "generated_images",
      model_price: "0.045",
      group_ratio: "0.9",
      exact: "0.1215",
      decimal_places: 2,
    });
    expect(calculateCharge({ details: perRequest("1"), usage: undefined }).derivation).toMatchObject({
      count: 1,
      count_source: "default",
    });
  });
});

describe("a charge per token", () => {
  it.each<[string, ModelDetails, Usage | undefined, string, string]>([
    [
      "output tokens per million",
      perToken("5"),
      { output_tokens: 16_384, total_tokens: 16_384 },
      "1",
      "0.08192",
    ],
    [
      "other tokens at their price",
      perToken("5", "2"),
      { output_tokens: 1_000, total_tokens: 1_500 },
      "1",
      "0.006",
    ],
    [
      "other tokens free by default",
      perToken("5"),
      { output_tokens: 1_000, total_tokens: 1_500 },
      "1",
      "0.005",
    ],
    ["the total as output where only it came", perToken("5", "2"), { total_tokens: 1_000 }, "1", "0.005"],
    ["the output where only it came", perToken("5", "2"), { output_tokens: 1_000 }, "1", "0.005"],
    [
      "no negative rest where the total is below",
      perToken("5", "2"),
      { output_tokens: 9, total_tokens: 1 },
      "1",
      "0.000045",
    ],
    ["times the ratio", perToken("5"), { output_tokens: 1_000_000 }, "0.5", "2.5"],
    ["nothing for explicit zeros", perToken("5", "2"), { output_tokens: 0, total_tokens: 0 }, "1", "0"],
    ["nothing where no tokens came", perToken("5", "2"), { generated_images: 3 }, "1", "0"],
    ["nothing where nothing came", perToken("5", "2"), undefined, "1", "0"],
    [
      "rounded once, half up",
      perToken("5", "0", 6),
      { output_tokens: 1, total_tokens: 1 },
      "0.1",
      "0.000001",
    ],
    [
      "exact for a token of a tiny price",
      perToken("0.000000000000000001"),
      { output_tokens: 1 },
      "1",
      "0.000000000000000000000001",
    ],
  ])("is %s", (_what, details, usage, group_ratio, amount) => {
    expect(calculateCharge({ details, usage, group_ratio }).amount).toBe(amount);
  });

  it("says where each number came from", () => {
    const usage = { generated_images: 1, output_tokens: 16_384, total_tokens: 16_484 };
    expect(
      calculateCharge({ details: perToken("15.5", "2", 4), usage, group_ratio: "0.8" }).derivation,
    ).toEqual({
      pricing_mode: "per-token",
      output_tokens: 16_384,
      other_tokens: 100,
      token_source: "output_tokens",
      output_token_price: "15.5",
      input_token_price: "2",
      group_ratio: "0.8",
      exact: "0.2033216",
      decimal_places: 4,
      unpriced: false,
    });
  });

  it.each<[Usage | undefined, string, boolean]>([
    [undefined, "none", true],
    [{ generated_images: 1 }, "none", true],
    [{ output_tokens: 0 }, "output_tokens", false],
    [{ total_tokens: 5 }, "total_tokens", false],
    [{ output_tokens: 4, total_tokens: 5 }, "output_tokens", false],
  ])("of %j has its tokens from %s and is marked unpriced: %s", (usage, token_source, unpriced) => {
    expect(calculateCharge({ details: perToken("5"), usage }).derivation).toMatchObject({
      token_source,
      unpriced,
    });
  });
});

/** An object that holds itself, which JSON.stringify cannot write. */
function createRing(): object {
  const holder: { self?: object } = {};
  holder.self = holder;
  return holder;
}

function fail(): never {
  throw new TypeError("this must not run");
}

describe("junk", () => {
  const usage = { generated_images: 1 };

  it.each([
    "-1",
    "+1",
    "",
    " ",
    "1 ",
    " 1",
    "1.",
    ".5",
    "1e3",
    "1e1000000000",
    "1E-5",
    "0x10",
    "NaN",
    "Infinity",
    "1,5",
    "1_000",
    "١",
    "9".repeat(31),
    `0.${"1".repeat(31)}`,
    -1,
    -0.5,
    Number.NaN,
    Infinity,
    -Infinity,
    1e300,
    5e-324,
    null,
    true,
    {},
    ["1"],
    "1e999999",
    "-1e999999999",
    "0".repeat(31),
    "1\n",
    "\u00a01",
    "0b1",
    "1n",
    { toString: () => "1" },
    { toJSON: () => "1", valueOf: () => 1 },
    Object("1"),
    Object.create(null),
    () => "1",
  ])("%j is not a price, not a ratio and not a token price", (junk) => {
    const value = junk as string;
    expect(() => calculateCharge({ details: perRequest(value), usage })).toThrow(/^model_price must be/);
    expect(() => calculateCharge({ details: perRequest("1"), usage, group_ratio: value })).toThrow(
      /^group_ratio must be/,
    );
    expect(() => calculateCharge({ details: perToken(value), usage })).toThrow(/^output_token_price must be/);
  });

  it.each([
    ["a bigint", 1n],
    ["a symbol", Symbol("1")],
    ["a ring", createRing()],
    ["an object whose texts throw", { toString: fail, valueOf: fail, toJSON: fail }],
  ])("%s is refused like other junk, and none of its code is run", (_what, junk) => {
    const value = junk as unknown as string;
    const count = junk as unknown as number;
    for (const run of [
      () => calculateCharge({ details: perRequest(value), usage }),
      () => calculateCharge({ details: perRequest("1", count), usage }),
      () => calculateCharge({ details: perRequest("1"), usage: { generated_images: count } }),
      () => calculateCharge({ details: { pricing_mode: value } as unknown as ModelDetails, usage }),
    ]) {
      expect(run).toThrow(RangeError);
    }
  });

  it("of any length is refused in a short message", () => {
    for (const piece of ["9", "-", "0.", "1e9", "\n"]) {
      const value = piece.repeat(5_000_000);
      expect(() => calculateCharge({ details: perRequest(value), usage })).toThrow(/^[^]{60,200}$/);
    }
  });

  it.each([-1, 0.5, Number.NaN, Infinity, 2 ** 53, "1", null, true, 1n])(
    "a count of %s is refused",
    (junk) => {
      const count = junk as number;
      expect(() => calculateCharge({ details: perRequest("1"), usage: { generated_images: count } })).toThrow(
        RangeError,
      );
      expect(() => calculateCharge({ details: perToken("1"), usage: { output_tokens: count } })).toThrow(
        RangeError,
      );
      expect(() => calculateCharge({ details: perToken("1"), usage: { total_tokens: count } })).toThrow(
        RangeError,
      );
    },
  );

  it.each([-1, 0.5, 31, Number.NaN, "2", 1e9])("decimal_places of %s are refused", (junk) => {
    expect(() => calculateCharge({ details: perRequest("1", junk as number), usage })).toThrow(
      /^decimal_places must be/,
    );
  });

  it.each(["free", undefined, "__proto__"])("pricing_mode %s is refused", (pricing_mode) => {
    const details = { pricing_mode, model_price: "1" } as unknown as ModelDetails;
    expect(() => calculateCharge({ details, usage })).toThrow(/^pricing_mode must be/);
  });
});
