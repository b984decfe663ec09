import { describe, expect, it } from "vitest";
import { createOwedWrites, type OwedWritesOptions } from "./owed-writes.js";

function open(options: Partial<OwedWritesOptions> = {}) {
  const failures: unknown[] = [];
  const owed = createOwedWrites({
    maxWrites: 3,
    maxBytes: 100,
    onFailure: (error) => void failures.push(error),
    ...options,
  });
  const made: string[] = [];
  const owe = (name: string, bytes?: number, what = name): void =>
    owed.owe(name, async () => void made.push(what), bytes);
  return { owed, owe, made, failures };
}

describe("owed writes", () => {
  it("are made once, in their order, the last of each name", async () => {
    const { owed, owe, made } = open();
    owe("a");
    owe("b");
    owe("a", 0, "a again");
    await owed.deliver();
    await owed.deliver();
    expect(made).toEqual(["b", "a again"]);
  });

  it.each([
    ["number", [1, 1, 1, 1], ["b", "c", "d"], 1],
    ["memory", [90, 5, 5, 20], ["b", "c", "d"], 1],
  ] as const)("past their %s forget the oldest, and tell how many", async (_what, sizes, rest, dropped) => {
    const { owed, owe, made } = open();
    for (const [index, size] of sizes.entries()) owe("abcd".charAt(index), size);
    await owed.deliver();
    expect(made).toEqual(rest);
    expect([owed.takeDropped(), owed.takeDropped()]).toEqual([dropped, 0]);
  });

  it("give their memory back", async () => {
    const { owed, owe, made } = open();
    for (const name of ["a", "b", "c", "d"]) {
      owe(name, 90);
      await owed.deliver();
    }
    expect(made).toEqual(["a", "b", "c", "d"]);
    expect(owed.takeDropped()).toBe(0);
  });

  it("are not made once they are forgotten, and those that fail are told of", async () => {
    const { owed, owe, made, failures } = open();
    const wrong = new Error("wrong");
    owe("a", 90);
    owed.owe("wrong", () => Promise.reject(wrong));
    owed.forget("a");
    owed.forget("nothing");
    owe("b", 90);
    await owed.deliver();
    expect([made, failures, owed.takeDropped()]).toEqual([["b"], [wrong], 0]);
  });
});
