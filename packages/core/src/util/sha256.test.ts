import { describe, expect, it } from "vitest";
import { sha256 } from "./sha256.js";

/** Examples of FIPS 180-4. */
const KNOWN = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
] as const;

describe("SHA-256", () => {
  it.each(KNOWN)("of %j is the known hash", (text, digest) => {
    expect(sha256(text)).toBe(digest);
  });

  it("reads half of a surrogate pair as U+FFFD, like every UTF-8 encoder", () => {
    expect(sha256("\ud800x")).toBe(sha256("\ufffdx"));
  });
});
