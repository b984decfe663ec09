import { describe, expect, it } from "vitest";
import { findGrowth, type Sample, slopeOf } from "./soak/growth.ts";

describe("slopeOf", () => {
  it("is the slope of points on a line", () => {
    expect(slopeOf([0, 1, 2, 3].map((x) => ({ x, y: 5 + 2 * x })))).toBe(2);
  });

  it("is not moved by a point that is far off", () => {
    const points = [0, 1, 2, 3, 4, 5, 6].map((x) => ({ x, y: x === 3 ? 1_000 : 10 }));

    expect(slopeOf(points)).toBe(0);
  });

  it("is not a number if no two points differ in x", () => {
    expect(slopeOf([{ x: 1, y: 1 }])).toBeNaN();
    expect(slopeOf([])).toBeNaN();
  });
});

const STEADY: Omit<Sample, "requests"> = {
  heapBytes: 20_000_000,
  bufferBytes: 1_000_000,
  residentBytes: 100_000_000,
  sockets: 14,
  timers: 3,
  openFiles: 40,
};

function samplesWith(change: (requests: number) => Partial<Sample>): Sample[] {
  return Array.from({ length: 60 }, (_, index) => {
    const requests = index * 5_000;
    return { ...STEADY, requests, ...change(requests) };
  });
}

describe("findGrowth", () => {
  it("finds nothing in a server that holds the same all the time, whatever its start was like", () => {
    expect(
      findGrowth(samplesWith((requests) => (requests < 50_000 ? { heapBytes: requests * 400 } : {}))),
    ).toEqual([]);
  });

  it.each([
    { measure: "heapBytes", perRequest: 100 },
    { measure: "bufferBytes", perRequest: 100 },
    { measure: "residentBytes", perRequest: 1_000 },
    { measure: "sockets", perRequest: 0.001 },
    { measure: "timers", perRequest: 0.001 },
    { measure: "openFiles", perRequest: 0.001 },
  ] as const)("finds $measure that grow by $perRequest per request", ({ measure, perRequest }) => {
    const samples = samplesWith((requests) => ({ [measure]: STEADY[measure] + perRequest * requests }));

    expect(findGrowth(samples).map((growth) => growth.measure)).toEqual([measure]);
  });
});
