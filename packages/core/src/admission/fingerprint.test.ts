import { describe, expect, it } from "vitest";
import { toFingerprint } from "./fingerprint.js";

const LONG = "x".repeat(100_000);

describe("toFingerprint", () => {
  it("is short, and the same for the same fields", async () => {
    const fields = { prompt: "猫", image: [LONG, "b"], n: 1 };
    expect(await toFingerprint(fields)).toMatch(/^[0-9a-f]{64}$/);
    expect(await toFingerprint(structuredClone(fields))).toBe(await toFingerprint(fields));
  });

  it.each([{ n: 2 }, { n: "1" }, { n: null }, {}, { n: 1, o: 1 }, { n: { n: 1 } }, { n: true }])(
    "is another for other fields: %j",
    async (fields) => {
      expect(await toFingerprint(fields)).not.toBe(await toFingerprint({ n: 1 }));
    },
  );

  it.each([
    ["texts of another end", { a: `${LONG}y` }, { a: `${LONG}z` }],
    ["places changed", { a: LONG, b: "l1" }, { a: "l1", b: LONG }],
    ["order changed", { a: [LONG, `${LONG}y`] }, { a: [`${LONG}y`, LONG] }],
    ["one text less", { a: [LONG, LONG] }, { a: [LONG] }],
    ["short texts that UTF-8 cannot write", { a: "\ud800" }, { a: "\ud801" }],
    ["long texts that UTF-8 cannot write", { a: `${LONG}\ud800` }, { a: `${LONG}\ud801` }],
  ])("tells long texts apart: %s", async (_, first, second) => {
    expect(await toFingerprint(first)).not.toBe(await toFingerprint(second));
  });
});
