import { describe, expect, it } from "vitest";
import { createCanaryFinder } from "./find-canaries.ts";

// Concatenated here, because the complete key must not appear in a test title or a difference.
const DIGITS = "0123abcd";
const KEY = `canary-${DIGITS}`;

function find(...pieces: readonly string[]): readonly string[] {
  const finder = createCanaryFinder();
  for (const piece of pieces) finder.add(piece);
  return finder.found().map((key) => key.slice("canary-".length));
}

describe("the search for keys", () => {
  it.each([
    ["alone", [KEY]],
    ["inside a longer key", [`sk-${KEY}-1`]],
    ["in JSON", [JSON.stringify({ key: `Bearer ${KEY}` })]],
    ["in capitals", [KEY.toUpperCase()]],
    ["across two pieces", [`a ${KEY.slice(0, 9)}`, `${KEY.slice(9)} b`]],
    ["sign by sign", Array.from(`a ${KEY} b`)],
    ["with colours in it", [`can\u001B[31mary-\u001B[0m${DIGITS}`]],
    ["twice", [`${KEY} ${KEY}`, KEY]],
    ["behind a megabyte", ["a".repeat(1_000_000) + KEY]],
  ])("finds one %s", (_where, pieces) => {
    expect(find(...pieces)).toEqual([DIGITS]);
  });

  it("finds several and returns them in order", () => {
    expect(find("canary-ffffffff and ", KEY)).toEqual([DIGITS, "f".repeat(8)]);
  });

  it.each([
    ["nothing", [""]],
    ["the word alone", ["the canary key"]],
    ["half a key", ["canary-0123"]],
    ["the halves of two", ["canary-", "x", DIGITS]],
  ])("finds none in %s", (_what, pieces) => {
    expect(find(...pieces)).toEqual([]);
  });
});
