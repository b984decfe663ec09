import { describe, expect, it } from "vitest";
import { createLocalConcurrency } from "./local-concurrency.js";

describe("createLocalConcurrency", () => {
  it("lets so many of one caller in, and the next once one has left", () => {
    const inside = createLocalConcurrency();
    inside.enter("me", 2);
    inside.enter("me", 2);
    expect(inside.enter("me", 2)).toBe(false);
    expect(inside.enter("you", 2)).toBe(true);
    inside.leave("me");
    expect(inside.enter("me", 2)).toBe(true);
    expect(inside.enter("me", 2)).toBe(false);
  });
});
