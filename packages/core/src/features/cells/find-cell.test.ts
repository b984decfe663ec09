import { assert, constant, pre, property, shuffledSubarray, string, tuple, uniqueArray } from "fast-check";
import { expect, it } from "vitest";
import { findCell } from "./find-cell.js";

const CELLS = ["cell-1", "cell-2", "cell-3"];

// Never change a row: the callers of operators would lose their database.
it.each([
  ["customer-1", "cell-2"],
  ["customer-2", "cell-2"],
  ["customer-3", "cell-1"],
  ["customer-4", "cell-3"],
  ["", "cell-2"],
  ["客户", "cell-3"],
  ["user:🙂", "cell-1"],
])("the caller %j is in %s, in every version", (caller, cell) => {
  expect(findCell(caller, CELLS)).toBe(cell);
});

const names = uniqueArray(string(), { minLength: 1, maxLength: 8 });

it("the order of the list does not matter", () => {
  const lists = names.chain((list) =>
    tuple(constant(list), shuffledSubarray(list, { minLength: list.length })),
  );
  assert(
    property(string(), lists, (caller, [list, shuffled]) => {
      expect(findCell(caller, shuffled)).toBe(findCell(caller, list));
    }),
  );
});

it("a caller moves only to a new cell, and only from a removed one", () => {
  assert(
    property(string(), names, string(), (caller, list, added) => {
      pre(!list.includes(added));
      expect([findCell(caller, list), added]).toContain(findCell(caller, [...list, added]));
    }),
  );
});

const CALLERS = Array.from({ length: 20_000 }, (_, at) => `customer-${at}`);

it.each([1, 2, 3, 7, 20])(
  "of %i cells each has its share, and one more takes its share from them",
  (count) => {
    const cells = Array.from({ length: count }, (_, at) => `cell-${at + 1}`);
    const before = CALLERS.map((caller) => findCell(caller, cells));
    for (const cell of cells) {
      const share = shareOf(
        before.filter((found) => found === cell),
        count,
      );
      expect(share).toBeGreaterThan(0.85);
      expect(share).toBeLessThan(1.15);
    }
    const grown = [...cells, "new"];
    const moved = CALLERS.filter((caller, at) => findCell(caller, grown) !== before[at]);
    expect(shareOf(moved, count + 1)).toBeGreaterThan(0.85);
    expect(shareOf(moved, count + 1)).toBeLessThan(1.15);
  },
);

/** 1: as many as each of this number of cells should have. */
function shareOf(callers: readonly string[], count: number): number {
  return (callers.length * count) / CALLERS.length;
}

it.each([
  [[], "at least one"],
  [["a", "b", "a"], "twice"],
])("the cells %j are refused", (cells, message) => {
  expect(() => findCell("customer-1", cells)).toThrow(new RegExp(message));
});
