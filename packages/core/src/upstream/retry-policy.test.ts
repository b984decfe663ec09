import { describe, expect, it } from "vitest";
import { maySendAgain } from "./retry-policy.js";

describe("maySendAgain", () => {
  it.each([
    ["unreachable", true, true],
    ["credential", true, true],
    ["rate", true, true],
    ["overload", true, true],
    ["server", false, true],
    ["timeout", false, true],
    ["broken", false, true],
    ["content", false, false],
    ["quota", true, true],
    ["model", true, true],
  ] as const)("after %s: %s, where a duplicate image does not matter: %s", (kind, safely, unsafely) => {
    expect(maySendAgain(kind, false)).toBe(safely);
    expect(maySendAgain(kind, true)).toBe(unsafely);
  });
});
