import { assert, constantFrom, integer, pre, property, string, stringMatching } from "fast-check";
import { describe, expect, it } from "vitest";
import { checkLink, makeLink } from "./signed-links.js";

const SECRET = "a secret of at least 32 characters, for tests";
const OTHER_SECRET = "another secret of at least 32 characters, too";
const ID = "0123456789abcdef0123456789abcdef";
const NOW = Date.UTC(2026, 10, 22);
const LINK = makeLink("https://api.example.com/ai", { id: ID, expiresAt: new Date(NOW + 60_000) }, SECRET);

/** Checks a link as the route does. */
function check(link: string, secrets: readonly string[] = [SECRET], now = NOW): string {
  const { pathname, search } = new URL(link);
  const id = pathname.split("/").at(-1) ?? "";
  return checkLink({ id, query: new URLSearchParams(search) }, secrets, now).kind;
}

const withQuery = (change: (query: URLSearchParams) => void): string => {
  const url = new URL(LINK);
  change(url.searchParams);
  return url.href;
};

const signatureOf = (link: string): string => new URL(link).searchParams.get("signature") ?? "";

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".split("");

const bytesOf = (signature: string): string => Buffer.from(signature, "base64url").toString("hex");

describe("a signed link", () => {
  it("has the id, the end in seconds, and a signature that other programs can compute", () => {
    expect(LINK).toBe(
      `https://api.example.com/ai/v1/images/files/${ID}?expires=1795305660&signature=YD-h1dNamXU6x2QK014_DRR3WqbpGnhaNak2odWwtrA`,
    );
  });

  it.each([
    ["with its own secret", "valid", [SECRET], NOW],
    ["with its secret after another one", "valid", [OTHER_SECRET, SECRET], NOW],
    ["with another secret", "wrong", [OTHER_SECRET], NOW],
    ["with no secret", "wrong", [], NOW],
    ["one second before its end", "valid", [SECRET], NOW + 59_000],
    ["at its end", "expired", [SECRET], NOW + 60_000],
    ["after its end", "expired", [SECRET], NOW + 600_000],
    ["after its end with another secret", "wrong", [OTHER_SECRET], NOW + 600_000],
  ])("%s: %s", (_when, state, secrets, now) => {
    expect(check(LINK, secrets, now)).toBe(state);
  });

  it("says for how many seconds it is valid", () => {
    const { searchParams } = new URL(LINK);
    expect(checkLink({ id: ID, query: searchParams }, [SECRET], NOW + 500)).toEqual({
      kind: "valid",
      secondsLeft: 59,
    });
  });

  it("does not end before the image", () => {
    const link = makeLink("http://a.test", { id: ID, expiresAt: new Date(NOW + 1) }, SECRET);
    expect(check(link)).toBe("valid");
  });
});

describe("a changed link", () => {
  it("is wrong for each changed character of its query or its id", () => {
    const start = LINK.indexOf(ID);
    const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_=&%+.~ /?";
    assert(
      property(
        integer({ min: start, max: LINK.length - 1 }),
        constantFrom(...alphabet.split("")),
        (at, character) => {
          const changed = LINK.slice(0, at) + character + LINK.slice(at + 1);
          expect(check(changed)).toBe(changed === LINK ? "valid" : "wrong");
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it("is wrong with any other signature", () => {
    const character = constantFrom(...BASE64URL);
    assert(
      property(string({ unit: character, minLength: 43, maxLength: 43 }), (signature) => {
        pre(signature !== signatureOf(LINK));
        expect(check(withQuery((query) => query.set("signature", signature)))).toBe("wrong");
      }),
    );
  });

  it("is wrong with any other end or id", () => {
    assert(
      property(integer({ min: -1, max: 10 ** 12 }), stringMatching(/^[\da-f]{32}$/), (end, id) => {
        pre(end !== NOW / 1000 + 60 && id !== ID);
        expect(check(withQuery((query) => query.set("expires", String(end))))).toBe("wrong");
        expect(check(LINK.replace(ID, id))).toBe("wrong");
      }),
    );
  });

  it.each<[string, string]>([
    ["without a signature", withQuery((query) => query.delete("signature"))],
    ["without an end", withQuery((query) => query.delete("expires"))],
    ["without a query", LINK.replace(/\?.*/, "")],
    ["with the same signature twice", withQuery((query) => query.append("signature", signatureOf(LINK)))],
    ["with a second end", withQuery((query) => query.append("expires", "1895305660"))],
    ["with a second end before its own", LINK.replace("?", "?expires=1895305660&")],
    ["with a zero before its end", LINK.replace("expires=", "expires=0")],
    ["with a sign before its end", LINK.replace("expires=", "expires=%2B")],
    ["with a space before its end", LINK.replace("expires=", "expires=+")],
    ["with an end in hexadecimal", LINK.replace("expires=1795305660", "expires=0x6b02387c")],
    ["with an end with a fraction", LINK.replace("1795305660", "1795305660.0")],
    ["with padding after its signature", `${LINK}=`],
    ["with an encoded NUL after its signature", `${LINK}%00`],
    ["with its names in upper case", LINK.replace("expires=", "EXPIRES=")],
    ["with its names as a list", LINK.replace("signature=", "signature[]=")],
    ["with its signature in upper case", LINK.replace(signatureOf(LINK), signatureOf(LINK).toUpperCase())],
    ["with an empty signature", withQuery((query) => query.set("signature", ""))],
    ["with a long signature", withQuery((query) => query.set("signature", "a".repeat(100_000)))],
  ])("%s is wrong", (_how, link) => {
    expect(check(link)).toBe("wrong");
  });

  it("is wrong if only unused bits of the signature changed", () => {
    const own = signatureOf(LINK);
    const same = BASE64URL.map((last) => own.slice(0, -1) + last).filter(
      (signature) => signature !== own && bytesOf(signature) === bytesOf(own),
    );
    expect(same).toHaveLength(3);
    for (const signature of same) {
      expect(check(withQuery((query) => query.set("signature", signature)))).toBe("wrong");
    }
  });
});

describe("a link that programs rewrote without changing it", () => {
  it.each<[string, string]>([
    ["with another parameter", `${LINK}&utm_source=mail`],
    ["with its parameters in another order", LINK.replace(/\?(.*)&(.*)/, "?$2&$1")],
    ["with an encoded character", LINK.replace("expires=1", "expires=%31")],
    ["with a fragment", `${LINK}#top`],
  ])("%s is valid", (_how, link) => {
    expect(check(link)).toBe("valid");
  });
});
