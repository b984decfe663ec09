import { describe, expect, it } from "vitest";
import { createKeyNames, toSafeString } from "./keys.js";

const HOSTILE = [
  "",
  "%",
  "a",
  "{a}",
  "a}",
  "{",
  "}",
  "%7b;",
  "%7b",
  "a\n",
  "a\r\n",
  "\u0000",
  "\ud800",
  "\udbff",
  "\ufffd",
  "🐈",
];

/** Returns the part that a cluster hashes: between the first opening brace and the next closing brace. */
const tagOf = (key: string): string | undefined => /\{([^}]+)\}/.exec(key)?.[1];

describe("the keys of a caller", () => {
  const keys = createKeyNames("calotype:");

  it("have one hash tag that no other caller has, whatever characters callers and keys contain", () => {
    const tags = HOSTILE.map((caller) => {
      const names = HOSTILE.flatMap((key) => [
        keys.window(caller, key),
        keys.slots(caller, key),
        keys.idempotency(caller, key),
        keys.line(caller),
        keys.probe(caller),
      ]);
      expect(names.filter((name) => !name.isWellFormed())).toEqual([]);
      const found = [...new Set(names.map(tagOf))];
      expect(found).toHaveLength(1);
      return found[0];
    });
    expect(tags).not.toContain(undefined);
    expect(new Set(tags).size).toBe(HOSTILE.length);
  });

  it("differ by key, by caller and by kind", () => {
    const names = HOSTILE.flatMap((caller) =>
      HOSTILE.flatMap((key) => [
        keys.window(caller, key),
        keys.slots(caller, key),
        keys.idempotency(caller, key),
      ]),
    );
    names.push(
      keys.cooldowns,
      keys.cooldownProbe,
      ...HOSTILE.flatMap((caller) => [keys.probe(caller), keys.line(caller)]),
    );
    expect(new Set(names).size).toBe(names.length);
  });

  it("stay readable if all characters are safe", () => {
    expect(keys.window("web-shop", '["requests","web-shop"]')).toBe(
      'calotype:{web-shop}:window:["requests","web-shop"]',
    );
  });
});

describe("toSafeString", () => {
  it.each([
    ["a", "a"],
    ["猫🐈", "猫🐈"],
    ["{}%", "%7b;%7d;%25;"],
    ["a\ud800b", "a%d800;b"],
  ])("writes %j as %j", (value, safe) => {
    expect(toSafeString(value)).toBe(safe);
  });
});
