import { describe, expect, it } from "vitest";
import { parseInstant, toInstant } from "./instant.js";

const NO_INSTANT: [string, string][] = [
  ["an empty string", ""],
  ["a number", "1"],
  ["a month and a day", "Jan 5"],
  ["a year", "2026"],
  ["a date", "2026-11-21"],
  ["a time without a zone", "2026-11-21T09:30:00"],
  ["a time with a space", "2026-11-21 09:30:00Z"],
  ["lower-case letters", "2026-11-21t09:30:00z"],
  ["a zone without minutes", "2026-11-21T09:30:00+08"],
  ["a zone without a colon", "2026-11-21T09:30:00+0800"],
  ["a named zone", "2026-11-21T09:30:00 GMT"],
  ["a year of five digits", "12026-11-21T09:30:00Z"],
  ["30 February", "2026-02-30T00:00Z"],
  ["29 February of a common year", "2027-02-29T00:00:00Z"],
  ["31 April", "2026-04-31T00:00:00Z"],
  ["day 0", "2026-04-00T00:00:00Z"],
  ["a 13th month", "2026-13-01T00:00:00Z"],
  ["hour 24", "2026-11-21T24:00:00Z"],
  ["minute 60", "2026-11-21T09:60:00Z"],
  ["second 60", "2026-11-21T09:30:60Z"],
  ["a zone of 24 hours", "2026-11-21T09:30:00+24:00"],
  ["words around it", "until 2026-11-21T09:30:00Z"],
  ["a line end", "2026-11-21T09:30:00Z\n"],
];

describe("parseInstant and toInstant", () => {
  it.each([
    ["2026-11-21T09:30:00Z", "2026-11-21T09:30:00.000Z"],
    ["2026-11-21T09:30Z", "2026-11-21T09:30:00.000Z"],
    ["2026-11-21T09:30:00.125Z", "2026-11-21T09:30:00.125Z"],
    ["2026-11-21T09:30:00.1Z", "2026-11-21T09:30:00.100Z"],
    ["2026-11-21T09:30:00.123456789Z", "2026-11-21T09:30:00.123Z"],
    ["2026-11-21T17:30:00+08:00", "2026-11-21T09:30:00.000Z"],
    ["2026-11-21T00:30:00-09:00", "2026-11-21T09:30:00.000Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["2028-02-29T23:59-23:59", "2028-03-01T23:58:00.000Z"],
    ["0050-01-01T00:00:00Z", "0050-01-01T00:00:00.000Z"],
  ])("take %s", (value, instant) => {
    expect(parseInstant(value)).toBe(Date.parse(instant));
    expect(toInstant(value, "from")).toBe(Date.parse(instant));
  });

  it.each(NO_INSTANT)("refuse %s", (_what, value) => {
    expect(parseInstant(value)).toBeUndefined();
    expect(() => toInstant(value, "from")).toThrow(
      new RangeError(
        `from must be an ISO 8601 time with a zone, such as "2026-01-31T00:00:00Z" or "2026-01-31T08:00:00+08:00", not ${JSON.stringify(value)}`,
      ),
    );
  });

  it.each([
    ["nothing", undefined],
    ["null", null],
    ["a number", 1_795_253_400_000],
    ["an invalid Date", new Date("soon")],
  ])("parseInstant refuses %s", (_what, value) => {
    expect(parseInstant(value)).toBeUndefined();
  });

  it("parseInstant takes a Date", () => {
    expect(parseInstant(new Date(1_000))).toBe(1_000);
  });
});
