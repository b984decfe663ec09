import { describe, expect, it } from "vitest";
import { createLateWrites } from "./late-writes.js";

/** A write that fails so many times. */
function failing(times: number, done: () => void): () => Promise<void> {
  let left = times;
  return async () => {
    if (left-- > 0) throw new Error("down");
    done();
  };
}

describe("what a ledger did not take in time", () => {
  it("is asked for again until it takes it, and then no more", async () => {
    const late = createLateWrites();
    const taken: string[] = [];
    late.add(failing(1, () => taken.push("a")));
    late.add(failing(0, () => taken.push("b")));
    await late.run();
    expect(taken).toEqual([]);
    await late.run();
    await late.run();
    expect(taken).toEqual(["b", "a"]);
  });

  it("is in the way of nothing else, also where it is never taken", async () => {
    const late = createLateWrites();
    const taken: string[] = [];
    late.add(failing(Infinity, () => taken.push("never")));
    for (const name of ["a", "b"]) late.add(failing(0, () => taken.push(name)));
    for (const _ of [1, 2, 3]) await late.run();
    expect(taken).toEqual(["a", "b"]);
  });

  it("is bounded: the oldest gives way", async () => {
    const late = createLateWrites();
    let count = 0;
    let isFirstTaken = false;
    late.add(async () => {
      isFirstTaken = true;
    });
    for (let index = 0; index < 10_000; index++) late.add(failing(0, () => count++));
    await late.run();
    expect([isFirstTaken, count]).toEqual([false, 10_000]);
  });

  it("holds that may have been made are in the way of no charge, and the first of them are kept", async () => {
    const late = createLateWrites();
    const taken: string[] = [];
    for (let index = 0; index < 1_001; index++) {
      late.addUnsure(failing(0, () => taken.push(`unsure ${index}`)));
    }
    late.add(failing(0, () => taken.push("charge")));
    await late.run();
    expect(taken.slice(0, 2)).toEqual(["charge", "unsure 0"]);
    expect(taken).toHaveLength(1_001);
  });
});
