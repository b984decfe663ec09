import { describe, expect, it } from "vitest";
import { createPendingWrites, type PendingWritesOptions } from "./pending-writes.js";

function open(options: Partial<PendingWritesOptions> = {}) {
  const failures: unknown[] = [];
  const pending = createPendingWrites({
    maxWrites: 3,
    maxBytes: 100,
    onFailure: (error) => void failures.push(error),
    ...options,
  });
  const made: string[] = [];
  const add = (name: string, bytes?: number, what = name): void =>
    pending.add(name, async () => void made.push(what), bytes);
  return { pending, add, made, failures };
}

describe("pending writes", () => {
  it("are made once and in their order, and only the last write of each name", async () => {
    const { pending, add, made } = open();
    add("a");
    add("b");
    add("a", 0, "a again");
    await pending.deliver();
    await pending.deliver();
    expect(made).toEqual(["b", "a again"]);
  });

  it.each([
    ["number", [1, 1, 1, 1], ["b", "c", "d"], 1],
    ["memory", [90, 5, 5, 20], ["b", "c", "d"], 1],
  ] as const)(
    "drop the oldest above the maximum %s, and count the dropped ones",
    async (_what, sizes, rest, dropped) => {
      const { pending, add, made } = open();
      for (const [index, size] of sizes.entries()) add("abcd".charAt(index), size);
      await pending.deliver();
      expect(made).toEqual(rest);
      expect([pending.takeDropped(), pending.takeDropped()]).toEqual([dropped, 0]);
    },
  );

  it("free their memory when they are made", async () => {
    const { pending, add, made } = open();
    for (const name of ["a", "b", "c", "d"]) {
      add(name, 90);
      await pending.deliver();
    }
    expect(made).toEqual(["a", "b", "c", "d"]);
    expect(pending.takeDropped()).toBe(0);
  });

  it("are not made after they are deleted, and report failures", async () => {
    const { pending, add, made, failures } = open();
    const wrong = new Error("wrong");
    add("a", 90);
    pending.add("wrong", () => Promise.reject(wrong));
    pending.delete("a");
    pending.delete("nothing");
    add("b", 90);
    await pending.deliver();
    expect([made, failures, pending.takeDropped()]).toEqual([["b"], [wrong], 0]);
  });
});
