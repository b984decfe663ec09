import { assert, constantFrom, property, string, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { type LimitSources, mergeLimits, toCallLimits } from "./rate-limits.js";

const SOURCES: LimitSources = {
  callerId: "me",
  callerLimits: {},
  model: "doubao-seedream",
  modelLimits: undefined,
  maxImages: 4,
  leaseMs: 900_000,
};
const ALL = { requestsPerMinute: 60, imagesPerMinute: 10, concurrent: 2 };

/** The keys of a caller's limits for one model. */
function keysOf(callerId: string, model: string): string[] {
  const limits = toCallLimits({ ...SOURCES, callerId, model, callerLimits: {}, modelLimits: ALL });
  return [...limits.windows, ...limits.concurrency].map(({ key }) => key);
}

describe("mergeLimits", () => {
  it.each([
    ["prefers the caller's limit", { requestsPerMinute: 5 }, { requestsPerMinute: 60 }, 5],
    ["uses the gateway's limit if the caller has none", {}, { requestsPerMinute: 60 }, 60],
    ["treats undefined as absent", { requestsPerMinute: undefined }, { requestsPerMinute: 60 }, 60],
    ["has no limit if the caller's is null", { requestsPerMinute: null }, { requestsPerMinute: 60 }, null],
    ["uses the caller's limit alone", { requestsPerMinute: 5 }, undefined, 5],
    ["has no limit without any", undefined, undefined, undefined],
  ])("%s", (_, own, gateway, expected) => {
    expect(mergeLimits(own, gateway).requestsPerMinute).toBe(expected);
  });

  it("merges each limit separately", () => {
    expect(mergeLimits({ imagesPerMinute: null, concurrent: 1 }, ALL)).toEqual({
      requestsPerMinute: 60,
      imagesPerMinute: null,
      concurrent: 1,
    });
  });
});

describe("toCallLimits", () => {
  it("counts one request and its largest number of images, in windows of a minute", () => {
    const { windows, concurrency } = toCallLimits({ ...SOURCES, callerLimits: ALL });
    expect(windows).toMatchObject([
      { name: "requests", limit: 60, windowMs: 60_000, cost: 1 },
      { name: "images", limit: 10, windowMs: 60_000, cost: 4 },
    ]);
    expect(concurrency).toMatchObject([{ limit: 2, leaseMs: 900_000 }]);
  });

  it("adds the model's limits after the caller's, with other keys", () => {
    const { windows, concurrency } = toCallLimits({ ...SOURCES, callerLimits: ALL, modelLimits: ALL });
    expect(windows.map(({ name, model }) => [name, model])).toEqual([
      ["requests", undefined],
      ["images", undefined],
      ["requests", "doubao-seedream"],
      ["images", "doubao-seedream"],
    ]);
    const keys = [...windows, ...concurrency].map(({ key }) => key);
    expect(new Set(keys).size).toBe(6);
  });

  it("ignores null in the model's limits", () => {
    const modelLimits = { requestsPerMinute: null, concurrent: null };
    const { windows, concurrency } = toCallLimits({ ...SOURCES, callerLimits: ALL, modelLimits });
    expect(windows).toHaveLength(2);
    expect(concurrency).toHaveLength(1);
  });

  it("is empty without limits", () => {
    expect(toCallLimits(SOURCES)).toEqual({ windows: [], concurrency: [] });
  });

  it("gives no two pairs of caller and model the same key, whatever characters they contain", () => {
    const name = string({
      unit: constantFrom('"', "\\", ",", "[", "]", "a", "\u0000", "\ud800"),
      maxLength: 4,
    });
    expect(keysOf('a","b', "c")).not.toEqual(keysOf("a", 'b","c'));
    expect(keysOf("\ud800", "c").every((key) => key.isWellFormed())).toBe(true);
    assert(
      property(tuple(name, name), tuple(name, name), ([caller, model], [otherCaller, otherModel]) => {
        const isSame = caller === otherCaller && model === otherModel;
        const others = new Set(keysOf(otherCaller, otherModel));
        return keysOf(caller, model).every((key) => others.has(key) === isSame);
      }),
    );
  });
});
