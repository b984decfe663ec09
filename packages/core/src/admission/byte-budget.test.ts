import { describe, expect, it } from "vitest";
import { createByteBudget } from "./byte-budget.js";

describe("createByteBudget", () => {
  it("takes to the last byte, refuses one more, and takes it once bytes are given back", () => {
    const budget = createByteBudget(100);
    const first = budget.take(60);
    expect(budget.take(41)).toBeUndefined();
    expect(budget.take(40)).toBeDefined();
    expect(budget.inUse).toBe(100);
    first?.giveBack();
    expect(budget.take(60)).toBeDefined();
  });

  it("counts nothing of bytes that are more than it has left", () => {
    const budget = createByteBudget(100);
    const taken = budget.take(90);
    expect(taken?.add(11)).toBe(false);
    expect(taken?.add(10)).toBe(true);
    expect(budget.inUse).toBe(100);
  });

  it("counts an answer that is there already past what it may hold", () => {
    const budget = createByteBudget(100);
    const taken = budget.take(90);
    taken?.addAnyway(50);
    expect(budget.inUse).toBe(140);
    expect(budget.take(0)).toBeUndefined();
    taken?.giveBack();
    expect(budget.inUse).toBe(0);
  });

  it("has bytes removed that are held no longer, and never more than were counted", () => {
    const budget = createByteBudget(100);
    const other = budget.take(10);
    const taken = budget.take(50);
    taken?.remove(20);
    expect(budget.inUse).toBe(40);
    taken?.remove(50);
    expect(budget.inUse).toBe(10);
    taken?.giveBack();
    other?.giveBack();
    other?.remove(10);
    expect(budget.inUse).toBe(0);
  });

  it("is given back once, with all that was added, and by who gave back nothing is counted", () => {
    const budget = createByteBudget(100);
    const other = budget.take(10);
    const taken = budget.take(10);
    taken?.add(10);
    taken?.addAnyway(10);
    taken?.giveBack();
    taken?.giveBack();
    expect(taken?.add(1)).toBe(false);
    taken?.addAnyway(1);
    expect(budget.inUse).toBe(10);
    other?.giveBack();
    expect(budget.inUse).toBe(0);
  });
});
