import { assert, nat, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256 as sha256OfNode } from "./sha256-node.js";
import { sha256 as sha256Portable } from "./sha256-portable.js";

/** Examples of FIPS 180-4. */
const KNOWN = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
] as const;

describe("SHA-256", () => {
  it.each(KNOWN)("of %j is the known one, on Node and elsewhere", (text, digest) => {
    expect(sha256OfNode(text)).toBe(digest);
    expect(sha256Portable(text)).toBe(digest);
  });

  it("is the same on Node and elsewhere for any text, half surrogate pairs included", () => {
    assert(
      property(string({ unit: "binary", maxLength: 200 }), nat(), (text, cut) => {
        const half = text.slice(cut % (text.length + 1));
        expect(sha256OfNode(half)).toBe(sha256Portable(half));
      }),
    );
    expect(sha256OfNode("\ud800x")).toBe(sha256Portable("\ud800x"));
  });
});
