import { describe, expect, it } from "vitest";
import { countUpstreamCalls, raiseSeed } from "./upstream-calls.js";

const ONE = { imagesPerCall: 1 };

describe("the number of upstream calls", () => {
  it.each([
    { what: "n", n: 4, capabilities: ONE, max: 10, calls: 4 },
    { what: "the largest n", n: 10, capabilities: ONE, max: 10, calls: 10 },
    { what: "no n", n: undefined, capabilities: ONE, max: 10, calls: 1 },
    { what: "n of 1", n: 1, capabilities: ONE, max: 10, calls: 1 },
    { what: "n below 1", n: -3, capabilities: ONE, max: 10, calls: 1 },
    {
      what: "a model that makes several images per call",
      n: 4,
      capabilities: { imagesPerCall: 6 },
      max: 10,
      calls: 1,
    },
    { what: "a row without a number of images", n: 4, capabilities: {}, max: 10, calls: 1 },
    { what: "a model without a row", n: 4, capabilities: undefined, max: 10, calls: 1 },
    { what: "fan-out turned off", n: 11, capabilities: ONE, max: 1, calls: 1 },
    { what: "no option", n: 4, capabilities: ONE, max: undefined, calls: 1 },
  ])("with $what is $calls", ({ n, capabilities, max, calls }) => {
    expect(countUpstreamCalls({ n }, { capabilities, maxUpstreamCalls: max })).toBe(calls);
  });

  it("above the maximum is a 400 that names n and the maximum", () => {
    expect(() => countUpstreamCalls({ n: 11 }, { capabilities: ONE, maxUpstreamCalls: 10 })).toThrow(
      expect.objectContaining({
        status: 400,
        param: "n",
        message: "n asks for 11 images; at most 10 are allowed.",
      }),
    );
  });

  it("is n for a stream that the gateway makes", () => {
    const context = { capabilities: ONE, maxUpstreamCalls: 10, streamFormat: "openai" as const };
    expect(countUpstreamCalls({ n: 4, stream: true }, context)).toBe(4);
  });

  it("is one for a stream of the provider: n above 1 is a 400", () => {
    const context = { capabilities: ONE, maxUpstreamCalls: 10 };
    expect(countUpstreamCalls({ n: 1, stream: true }, context)).toBe(1);
    expect(() => countUpstreamCalls({ n: 2, stream: true }, context)).toThrow(
      expect.objectContaining({ status: 400, param: "stream" }),
    );
  });
});

describe("the seed of a call", () => {
  it.each([
    { seed: 7, amount: 0, sent: 7 },
    { seed: 7, amount: 3, sent: 10 },
    { seed: 2_147_483_646, amount: 1, sent: 2_147_483_647 },
    { seed: 2_147_483_647, amount: 1, sent: 0 },
    { seed: 2_147_483_645, amount: 9, sent: 6 },
    { seed: -1, amount: 3, sent: -1 },
    { seed: 2_147_483_648, amount: 3, sent: 2_147_483_648 },
    { seed: 1.5, amount: 3, sent: 1.5 },
    { seed: "7", amount: 3, sent: "7" },
    { seed: null, amount: 3, sent: null },
  ])("$seed of call $amount is $sent", ({ seed, amount, sent }) => {
    expect(raiseSeed({ seed, size: "1K" }, amount)).toEqual({ seed: sent, size: "1K" });
  });

  it("is not invented", () => {
    expect(raiseSeed({ size: "1K" }, 3)).toEqual({ size: "1K" });
  });
});
