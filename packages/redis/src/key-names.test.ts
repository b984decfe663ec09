import { describe, expect, it } from "vitest";
import { createKeyNames, toSafeText } from "./key-names.js";

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

/** What a cluster hashes: the text between the first opening brace and the next closing one. */
const tagOf = (key: string): string | undefined => /\{([^}]+)\}/.exec(key)?.[1];

describe("the keys of a caller", () => {
  const keys = createKeyNames("calotype:");

  it("carry one tag, which is no other caller's, whatever callers and keys are called", () => {
    const tags = HOSTILE.map((caller) => {
      const names = HOSTILE.flatMap((key) => [
        keys.window(caller, key),
        keys.place(caller, key),
        keys.claim(caller, key),
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

  it("are apart by what they hold, by caller and by kind", () => {
    const names = HOSTILE.flatMap((caller) =>
      HOSTILE.flatMap((key) => [keys.window(caller, key), keys.place(caller, key), keys.claim(caller, key)]),
    );
    names.push(keys.cooldowns, keys.cooldownProbe, ...HOSTILE.map((caller) => keys.probe(caller)));
    expect(new Set(names).size).toBe(names.length);
  });

  it("stay readable where nothing speaks against it", () => {
    expect(keys.window("web-shop", '["requests","web-shop"]')).toBe(
      'calotype:{web-shop}:window:["requests","web-shop"]',
    );
  });
});

describe("toSafeText", () => {
  it.each([
    ["a", "a"],
    ["猫🐈", "猫🐈"],
    ["{}%", "%7b;%7d;%25;"],
    ["a\ud800b", "a%d800;b"],
  ])("writes %j as %j", (text, safe) => {
    expect(toSafeText(text)).toBe(safe);
  });
});
