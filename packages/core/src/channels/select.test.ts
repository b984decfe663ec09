import { describe, expect, it } from "vitest";
import { seedream } from "../families/seedream/seedream.js";
import { type Channel, createChannel } from "./channel.js";
import { type SelectionContext, selectReady } from "./select.js";

const channel = (id: string, priority?: number, weight?: number): Channel =>
  createChannel({ id, family: "seedream", apiKey: "k", priority, weight }, seedream);

/** Every channel works. */
const working = (point: number): SelectionContext => ({
  readyBy: 1_000,
  random: () => point,
  readyAt: () => 0,
});

/** Some channels cool until the given times. */
const cooling = (times: Record<string, number>): SelectionContext => ({
  ...working(0.5),
  readyAt: ({ id }) => times[id] ?? 0,
});

describe("selectReady", () => {
  it("returns undefined without channels", () => {
    expect(selectReady([], working(0))).toBeUndefined();
  });

  it("chooses from the highest priority only", () => {
    const candidates = [channel("low", -1, 1_000), channel("high", 2, 0.001), channel("middle", 0, 1_000)];
    for (const point of [0, 0.5, 0.999999]) expect(selectReady(candidates, working(point))?.id).toBe("high");
  });

  it.each([
    [0, "a"],
    [0.0999, "a"],
    [0.1, "b"],
    [0.3999, "b"],
    [0.4, "c"],
    [0.999999999, "c"],
    // A wrong random function.
    [1, "c"],
  ])("with the random number %d chooses %s of the weights 1, 3 and 6", (point, id) => {
    const candidates = [channel("a", 0, 1), channel("b", 0, 3), channel("c", 0, 6)];
    expect(selectReady(candidates, working(point))?.id).toBe(id);
  });

  it("chooses each channel in proportion to its weight", () => {
    const candidates = [channel("a", 1, 1), channel("b", 1, 3), channel("c", 0, 9)];
    const runs = 10_000;
    const points = Array.from({ length: runs }, (_, index) => (index + 0.5) / runs);
    const taken = points.map((point) => selectReady(candidates, working(point))?.id);
    expect(taken.filter((id) => id === "a")).toHaveLength(2_500);
    expect(taken.filter((id) => id === "b")).toHaveLength(7_500);
  });

  it("chooses each ready channel in proportion to its weight", () => {
    const candidates = [channel("a", 1, 6), channel("b", 1, 1), channel("c", 1, 3)];
    const runs = 40_000;
    let seed = 1;
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const context = { ...cooling({ a: 2_000 }), random };
    const taken = Array.from({ length: runs }, () => selectReady(candidates, context)?.id);
    expect(taken).not.toContain("a");
    expect(taken.filter((id) => id === "b").length / runs).toBeCloseTo(0.25, 2);
  });

  it.each([
    ["the other channel of the priority", { a: 1_001 }, "b"],
    ["the next priority if all of one cool", { a: 1_001, b: 2_000 }, "c"],
    ["a channel whose cooldown is over", { a: 1_000, b: 2_000 }, "a"],
    ["none if all cool", { a: 3_000, b: 2_000, c: 4_000 }, undefined],
    ["no channel that is being probed", { a: Number.POSITIVE_INFINITY, b: 9_000, c: 1_000 }, "c"],
  ])("chooses %s", (_what, times, id) => {
    const candidates = [channel("a", 1), channel("b", 1), channel("c", 0)];
    expect(selectReady(candidates, cooling(times))?.id).toBe(id);
  });

  it("chooses only channels that are known to work if readyBy is 0", () => {
    const candidates = [channel("a", 1), channel("b", 0)];
    const context = { ...cooling({ a: 500 }), readyBy: 0 };
    expect(selectReady(candidates, context)?.id).toBe("b");
    expect(selectReady(candidates.slice(0, 1), context)).toBeUndefined();
  });
});
