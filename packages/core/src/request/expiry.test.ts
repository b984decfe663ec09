import { describe, expect, it } from "vitest";
import { parseExpiry } from "./expiry.js";

describe("parseExpiry", () => {
  it.each([
    ["2026-11-21T09:30:00Z", "2026-11-21T09:30:00.000Z"],
    ["2026-11-21T09:30Z", "2026-11-21T09:30:00.000Z"],
    ["2026-11-21T09:30:00.125Z", "2026-11-21T09:30:00.125Z"],
    ["2026-11-21T17:30:00+08:00", "2026-11-21T09:30:00.000Z"],
    ["2026-11-21T00:30:00-09:00", "2026-11-21T09:30:00.000Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    [new Date(1_000), "1970-01-01T00:00:01.000Z"],
  ])("takes %s", (value, moment) => {
    expect(parseExpiry(value)).toBe(Date.parse(moment));
  });

  it.each([
    ["nothing", undefined],
    ["null", null],
    ["an empty text", ""],
    ["a day", "2026-11-21"],
    ["a time without a zone", "2026-11-21T09:30:00"],
    ["a time with a space", "2026-11-21 09:30:00Z"],
    ["a day that is not there", "2026-02-30T00:00:00Z"],
    ["a 29th of February in a common year", "2027-02-29T00:00:00Z"],
    ["a 13th month", "2026-13-01T00:00:00Z"],
    ["a 25th hour", "2026-11-21T25:00:00Z"],
    ["a zone that is not there", "2026-11-21T09:30:00+99:00"],
    ["words around it", "until 2026-11-21T09:30:00Z"],
    ["a number", 1_795_253_400_000],
    ["a Date of no time", new Date("soon")],
  ])("takes %s for no moment", (_what, value) => {
    expect(parseExpiry(value)).toBeUndefined();
  });
});
