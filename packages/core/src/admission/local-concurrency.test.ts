import { describe, expect, it } from "vitest";
import { createLocalConcurrency } from "./local-concurrency.js";

describe("createLocalConcurrency", () => {
  it("lets so many of one caller in, and the next once one has left", () => {
    const inside = createLocalConcurrency();
    const leave = inside.enter("me", 2);
    inside.enter("me", 2);
    expect(inside.enter("me", 2)).toBeUndefined();
    expect(inside.enter("you", 2)).toBeDefined();
    leave?.();
    expect(inside.enter("me", 2)).toBeDefined();
  });

  it("who leaves twice frees one place", () => {
    const inside = createLocalConcurrency();
    const leave = inside.enter("me", 2);
    inside.enter("me", 2);
    leave?.();
    leave?.();
    expect(inside.enter("me", 2)).toBeDefined();
    expect(inside.enter("me", 2)).toBeUndefined();
  });
});
