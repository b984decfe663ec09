import { describe, expect, it } from "vitest";
import { readCost } from "./shared.js";

describe("the cost that a provider reports", () => {
  it.each<readonly [unknown, number, string | undefined]>([
    [0.04, 0, "0.04"],
    [3, 0, "3"],
    [1e-7, 0, "0.0000001"],
    [1e21, 0, "1000000000000000000000"],
    // Floats get these wrong: 1.005 has a smaller float, and 4.35 / 100 is 0.043499999999999997.
    [1.005, 0, "1.005"],
    [4.35, 2, "0.0435"],
    [0.000_05, 2, "0.0000005"],
    [1_234_567_890_123_456, 10, "123456.7890123456"],
    [9_007_199_254_740_991, 10, "900719.9254740991"],
    [1, 10, "0.0000000001"],
    // The provider added floats.
    [0.1 + 0.2, 0, "0.3"],
    [1.4 + 0.2, 2, "0.016"],
    [0.000_000_000_000_5, 0, "0.000000000001"],
    [0, 0, undefined],
    [-0.04, 0, undefined],
    [Number.NaN, 0, undefined],
    [Number.POSITIVE_INFINITY, 0, undefined],
    ["0.04", 0, undefined],
    [null, 0, undefined],
  ])("%j with %i places is %s", (value, places, cost) => {
    expect(readCost(value, places)).toBe(cost);
  });
});
