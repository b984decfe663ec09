import { array, assert, boolean, integer, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { createSortedList, type ListItem } from "./sorted-list.js";

interface Item extends ListItem<Item> {
  readonly rank: number;
}

const createItem = (rank: number): Item => ({ rank, previous: undefined, next: undefined, list: undefined });
const isBefore = (one: Item, other: Item): boolean => one.rank < other.rank;

describe("a sorted list", () => {
  it("gives its items in order, whatever was added and taken out", () => {
    const commands = array(tuple(boolean(), integer({ min: 0, max: 30 })), { maxLength: 60 });
    assert(
      property(commands, (steps) => {
        const list = createSortedList(isBefore);
        const items = Array.from({ length: 31 }, (_, rank) => createItem(rank));
        const inside = new Set<number>();
        for (const [isAdded, rank] of steps) {
          const item = items[rank] ?? createItem(rank);
          if (!isAdded) list.delete(item);
          else if (!inside.has(rank)) list.add(item);
          if (isAdded) inside.add(rank);
          else inside.delete(rank);
          expect(list.first()?.rank).toBe(inside.size === 0 ? undefined : Math.min(...inside));
        }
        const left: number[] = [];
        for (let item = list.first(); item !== undefined; item = list.first()) {
          left.push(item.rank);
          list.delete(item);
        }
        expect(left).toEqual([...inside].toSorted((a, b) => a - b));
      }),
    );
  });

  it("keeps items of one rank in the order they came", () => {
    const list = createSortedList(isBefore);
    const items = [createItem(1), createItem(1), createItem(1)];
    for (const item of items) list.add(item);
    for (const item of items) {
      expect(list.first()).toBe(item);
      list.delete(item);
    }
  });

  it("does not take an item out of another list", () => {
    const list = createSortedList(isBefore);
    const other = createSortedList(isBefore);
    const item = createItem(1);
    list.add(item);
    other.delete(item);
    expect(list.first()).toBe(item);
  });
});
