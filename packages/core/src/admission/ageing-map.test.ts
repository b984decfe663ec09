import { array, assert, constantFrom, property, tuple } from "fast-check";
import { describe, expect, it } from "vitest";
import { createAgeingMap } from "./ageing-map.js";

describe("createAgeingMap", () => {
  it("knows its oldest entry as a Map does, whatever is added and deleted", () => {
    const step = tuple(constantFrom("add", "delete"), constantFrom("a", "b", "c", "d"));
    assert(
      property(array(step, { maxLength: 40, size: "max" }), (steps) => {
        const ageing = createAgeingMap<number>();
        const map = new Map<string, number>();
        for (const [index, [what, key]] of steps.entries()) {
          map.delete(key);
          if (what === "add") map.set(key, index);
          if (what === "add") ageing.add(key, index);
          else ageing.delete(key);
          expect(ageing.oldest).toBe(map.keys().next().value);
          expect(ageing.size).toBe(map.size);
          expect(ageing.get(key)).toBe(map.get(key));
        }
      }),
    );
  });
});
