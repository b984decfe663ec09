import { describe, expect, it } from "vitest";
import { remember } from "./resolve-model.js";

function createCounting(): { find: (name: string) => { name: string } | undefined; asked: string[] } {
  const asked: string[] = [];
  const find = remember((name: string) => {
    asked.push(name);
    return name.startsWith("none") ? undefined : { name };
  });
  return { find, asked };
}

describe("remember", () => {
  it("computes a result once, and returns the same object again", () => {
    const { find, asked } = createCounting();
    expect(find("a")).toBe(find("a"));
    expect(asked).toEqual(["a"]);
  });

  it("does not cache undefined", () => {
    const { find, asked } = createCounting();
    expect([find("none"), find("none")]).toEqual([undefined, undefined]);
    expect(asked).toHaveLength(2);
  });

  it("caches the latest thousand names", () => {
    const { find, asked } = createCounting();
    for (let index = 0; index <= 1_000; index++) find(`name-${index}`);
    asked.length = 0;
    find("name-1");
    find("name-1000");
    expect(asked).toEqual([]);
    find("name-0");
    expect(asked).toEqual(["name-0"]);
  });

  it("does not cache very long names", () => {
    const { find, asked } = createCounting();
    const name = "x".repeat(257);
    expect(find(name)).toEqual(find(name));
    expect(asked).toHaveLength(2);
  });

  it("distinguishes inputs by their keys", () => {
    const asked: number[] = [];
    const isEven = remember(
      ({ count }: { count: number }) => {
        asked.push(count);
        return count % 2 === 0;
      },
      ({ count }) => count,
    );
    expect([{ count: 1 }, { count: 2 }, { count: 1 }].map(isEven)).toEqual([false, true, false]);
    expect(asked).toEqual([1, 2]);
  });
});
