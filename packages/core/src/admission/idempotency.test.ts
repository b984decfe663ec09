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

  it("is the same for the same request", async () => {
    const claim = await createClaim(REQUEST);
    expect(claim).toEqual(await createClaim(structuredClone(REQUEST)));
    expect(claim).toMatchObject({
      key: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      leaseMs: 5,
    });
  });

  it.each([
    [{ callerId: "you" }],
    [{ path: "/v1/images/edits" }],
    [{ key: "K" }],
    [{ callerId: 'me","/v1' }],
  ])("the key of another caller, path or key is another: %j", async (other) => {
    const { key, fingerprint } = await createClaim({ ...REQUEST, ...other });
    const first = await createClaim(REQUEST);
    expect(key).not.toBe(first.key);
    expect(fingerprint).toBe(first.fingerprint);
  });

  it.each([{ n: 2 }, { n: "1" }, { n: null }, {}, { n: 1, m: undefined, o: 1 }, { n: { n: 1 } }])(
    "the fingerprint of other fields is another: %j",
    async (fields) => {
      const first = await createClaim(REQUEST);
      expect((await createClaim({ ...REQUEST, fields })).fingerprint).not.toBe(first.fingerprint);
    },
  );

  it("tells texts apart that UTF-8 cannot write", async () => {
    const [first, second] = await Promise.all(
      ["\ud800", "\ud801"].map((prompt) => createClaim({ ...REQUEST, fields: { prompt } })),
    );
    expect(first?.fingerprint).not.toBe(second?.fingerprint);
  });
});
