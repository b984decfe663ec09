import { describe, expect, it } from "vitest";
import { readDataUrl } from "./data-url.js";

const read = (base64: string) => readDataUrl(`data:image/png;base64,${base64}`).bytes.toString("latin1");

describe("a data URL", () => {
  it.each([
    ["aGVsbG8h", "hello!"],
    ["aGVsbG8=", "hello"],
    ["aGVsbA==", "hell"],
    ["aGVsbB==", "hell"], // stray bits at the end
  ])("holds %s", (base64, text) => {
    expect(read(base64)).toBe(text);
  });

  it.each([
    "",
    "aGVsbG8",
    "aGVsbG8h=",
    "aGVs====",
    "aGVs bG8h",
    "aGVs\nbG8",
    "a-Vs",
    "a_Vsb_8h",
    "aG==bG8h",
    "=GVs",
    "a===",
  ])("of %j is broken", (base64) => {
    expect(() => read(base64)).toThrow("broken-base64");
  });

  it("refuses characters whose lower byte is base64", () => {
    expect(() => read("/Bz中")).toThrow("broken-base64");
    expect(() => read("Bzz中A9/+")).toThrow("broken-base64");
  });

  it.each(["data:,aGVs", "data:text/plain;base64,aGVs", "data:image/png,aGVs", "data:image/png;base64"])(
    "is refused if it is %j",
    (url) => {
      expect(() => readDataUrl(url)).toThrow("not-a-link");
    },
  );
});
