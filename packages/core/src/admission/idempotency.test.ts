import { describe, expect, it } from "vitest";
import { readIdempotencyKey, toClaimKey, toFingerprint } from "./idempotency.js";

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

describe("toClaimKey", () => {
  const key = toClaimKey("me", "/v1/images/generations", "k");

  it("is short, and the same for the same", () => {
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(toClaimKey("me", "/v1/images/generations", "k")).toBe(key);
  });

  it.each([
    ["you", "/v1/images/generations", "k"],
    ["me", "/v1/images/edits", "k"],
    ["me", "/v1/images/generations", "K"],
    ['me","/v1/images/generations', "", "k"],
    ["\ud800", "/v1/images/generations", "k"],
  ])("is another for another caller, path or key: %j %j %j", (...parts) => {
    expect(toClaimKey(...parts)).not.toBe(key);
  });
});

describe("toFingerprint", () => {
  it("is the same for the same fields", async () => {
    const fields = { prompt: "猫", image: ["a", "b"], n: 1 };
    expect(await toFingerprint(fields)).toMatch(/^[0-9a-f]{64}$/);
    expect(await toFingerprint(structuredClone(fields))).toBe(await toFingerprint(fields));
  });

  it.each([{ n: 2 }, { n: "1" }, { n: null }, {}, { n: 1, o: 1 }, { n: { n: 1 } }])(
    "is another for other fields: %j",
    async (fields) => {
      expect(await toFingerprint(fields)).not.toBe(await toFingerprint({ n: 1 }));
    },
  );

  it("tells texts apart that UTF-8 cannot write", async () => {
    expect(await toFingerprint({ prompt: "\ud800" })).not.toBe(await toFingerprint({ prompt: "\ud801" }));
  });
});
