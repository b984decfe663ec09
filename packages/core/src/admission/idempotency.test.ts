import { describe, expect, it } from "vitest";
import { createClaim, readIdempotencyKey } from "./idempotency.js";

function read(key: string): string | undefined {
  return readIdempotencyKey({ get: (name) => (name === "idempotency-key" ? key : null) });
}

describe("readIdempotencyKey", () => {
  it.each([
    ["8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ['"8e03978e"', "8e03978e"],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ["  a\t", "a"],
    ['a"b', 'a"b'],
    ["a,b", "a,b"],
    ["!~", "!~"],
    ["x".repeat(255), "x".repeat(255)],
    [`"${"x".repeat(255)}"`, "x".repeat(255)],
  ])("reads %j", (header, key) => {
    expect(read(header)).toBe(key);
  });

  it("is undefined without the header", () => {
    expect(readIdempotencyKey(new Headers())).toBeUndefined();
  });

  it.each([
    ["empty", ""],
    ["blank", "  "],
    ["empty in quotes", '""'],
    ["too long", "x".repeat(256)],
    ["too long in quotes", `"${"x".repeat(256)}"`],
    ["with a space", "a b"],
    ["with a space in quotes", '"a b"'],
    ["sent twice", "a, b"],
    ["sent twice in quotes", '"a", "b"'],
    ["half quoted", '"a'],
    ["a single quote", '"'],
    ["with a parameter", '"a";b=1'],
    ["with an unknown escape", '"a\\n"'],
    ["not ASCII", "ключ"],
    ["with a control character", "a\u007f"],
  ])("one that is %s is a 400", (_, header) => {
    expect(() => read(header)).toThrow(
      expect.objectContaining({
        status: 400,
        param: undefined,
        message:
          "The header Idempotency-Key must be one key of 1 to 255 visible ASCII characters, such as a UUID.",
      }),
    );
  });
});

describe("createClaim", () => {
  const REQUEST = { callerId: "me", path: "/v1/images/generations", key: "k", fields: { n: 1 }, leaseMs: 5 };

  it("is short, and the same for the same request", async () => {
    const claim = await createClaim(REQUEST);
    expect(claim).toEqual(await createClaim(structuredClone(REQUEST)));
    expect(claim.key).toMatch(/^[0-9a-f]{64}$/);
    expect(claim.leaseMs).toBe(5);
  });

  it.each([
    { callerId: "you" },
    { path: "/v1/images/edits" },
    { key: "K" },
    { callerId: 'me","/v1/images/generations', path: "" },
    { callerId: "\ud800" },
  ])("has another key for another caller, path or key: %j", async (other) => {
    const [first, second] = [await createClaim(REQUEST), await createClaim({ ...REQUEST, ...other })];
    expect(second.key).not.toBe(first.key);
    expect(second.fingerprint).toBe(first.fingerprint);
  });

  it("has the same key for other fields, and another fingerprint", async () => {
    const [first, second] = [await createClaim(REQUEST), await createClaim({ ...REQUEST, fields: { n: 2 } })];
    expect(second.key).toBe(first.key);
    expect(second.fingerprint).not.toBe(first.fingerprint);
  });
});
