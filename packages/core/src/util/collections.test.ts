import { describe, expect, it } from "vitest";
import { createLinkedList } from "./collections.js";

describe("a linked list", () => {
  it("has nothing at first", () => {
    expect([...createLinkedList()]).toEqual([]);
  });

  it("keeps the order in which values were added, whichever are removed", () => {
    const list = createLinkedList<number>();
    const links = [0, 1, 2, 3, 4].map((value) => list.add(value));
    for (const [index, left] of [
      [0, [1, 2, 3, 4]],
      [2, [1, 3, 4]],
      [4, [1, 3]],
      [3, [1]],
      [1, []],
    ] as const) {
      const link = links[index];
      if (link !== undefined) list.delete(link);
      expect([...list]).toEqual(left);
    }
    list.add(5);
    expect([...list]).toEqual([5]);
  });

  it("may lose any value while it is read", () => {
    const list = createLinkedList<string>();
    const links = ["a", "b", "c"].map((value) => list.add(value));
    const seen: string[] = [];
    for (const value of list) {
      seen.push(value);
      const link = links.shift();
      if (link !== undefined) list.delete(link);
    }
    expect(seen).toEqual(["a", "b", "c"]);
    expect([...list]).toEqual([]);
  });

  it("ignores a second removal", () => {
    const list = createLinkedList<string>();
    const first = list.add("first");
    list.add("second");
    list.delete(first);
    list.delete(first);
    expect([...list]).toEqual(["second"]);
  });

  it("keeps no other value alive by a removed one", () => {
    const list = createLinkedList<string>();
    const first = list.add("first");
    const second = list.add("second");
    list.delete(first);
    expect(first).toEqual({ value: "first", previous: undefined, next: undefined, isDeleted: true });
    expect(second.previous).toBeUndefined();
  });
});
