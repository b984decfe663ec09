import { afterEach, describe, expect, it, vi } from "vitest";
import { createSecretRedaction } from "../redact.js";
import { generateApiKey, hashApiKey } from "./api-key.js";
import { createAuthenticator, findByHash } from "./authenticate.js";

// In place of a spy: Bun does not let one be taken off its `crypto` again.
afterEach(() => vi.unstubAllGlobals());

function drawBytes(fill: (bytes: Uint8Array) => void): void {
  const getRandomValues = (bytes: Uint8Array): Uint8Array => {
    fill(bytes);
    return bytes;
  };
  vi.stubGlobal("crypto", { getRandomValues });
}

describe("generateApiKey", () => {
  it("generates a key of fixed length whose hash admits its holder", async () => {
    const { key, hash } = generateApiKey();
    const isShaped = /^cal-[\dA-Za-z]{43}$/.test(key);
    expect(isShaped).toBe(true);

    const authenticate = createAuthenticator({
      find: findByHash([{ id: "me", hash }]),
      rules: { hasBilling: true, canKeepPeriods: true },
      now: Date.now,
    });
    const caller = await authenticate({
      method: "POST",
      url: "/",
      headers: new Headers({ authorization: `Bearer ${key}` }),
    });
    expect(caller).toEqual({ id: "me" });
  });

  it("generates a different key each time", () => {
    const keys = new Set(Array.from({ length: 1000 }, () => generateApiKey().key));
    expect(keys.size).toBe(1000);
  });

  it.each([
    ["the smallest", 0, "0".repeat(43)],
    ["the largest", 255, "zngLkq68kuSNbFFN8OmiABcs7BQKs6ipsNQXd1L6Hp9".length],
  ])("writes %s number with all its digits", (_what, byte, expected) => {
    drawBytes((bytes) => bytes.fill(byte));
    const digits = generateApiKey({ prefix: "" }).key;
    expect(typeof expected === "string" ? digits : digits.length).toBe(expected);
  });

  it("writes every bit", () => {
    const keys = new Set<string>();
    for (let bit = 0; bit < 256; bit++) {
      drawBytes((bytes) => (bytes[bit >> 3] = 1 << (bit & 7)));
      keys.add(generateApiKey().key);
    }
    expect(keys.size).toBe(256);
  });

  it("begins with the given prefix", () => {
    const { key, hash } = generateApiKey({ prefix: "acme_live-" });
    const isShaped = /^acme_live-[\dA-Za-z]{43}$/.test(key);
    expect(isShaped).toBe(true);
    expect(hash).toBe(hashApiKey(key));
  });

  it.each(["a b", "ü", "a\n", '"'])("refuses the prefix %j", (prefix) => {
    expect(() => generateApiKey({ prefix })).toThrow(TypeError);
  });

  it("generates keys that are removed from provider messages", () => {
    const redact = createSecretRedaction([]);
    const said = Array.from({ length: 200 }, () => redact(`Not ${generateApiKey().key}!`));
    expect(new Set(said)).toEqual(new Set(["Not ***!"]));
  });
});
