import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { datesOf, type Period, readDates, toPeriod } from "./period.js";

// The clocks of London go back on 25 October 2026: that day has 25 hours.
beforeEach(() => vi.stubEnv("TZ", "Europe/London"));
afterEach(() => vi.unstubAllEnvs());

const NOW = Date.parse("2026-10-27T09:30:00Z");

/** Without what is the same everywhere. */
function timesOf({ from, to, previousFrom, previousTo, bucket }: Period): readonly string[] {
  return [from, to, previousFrom, previousTo].map((time) => time.replace(":00.000Z", "")).concat(bucket);
}

it.each([
  ["24h", ["2026-10-26T10:00", "2026-10-27T10:00", "2026-10-25T10:00", "2026-10-26T10:00", "hour"]],
  ["yesterday", ["2026-10-26T00:00", "2026-10-27T00:00", "2026-10-24T23:00", "2026-10-26T00:00", "hour"]],
  ["7d", ["2026-10-20T23:00", "2026-10-27T10:00", "2026-10-13T23:00", "2026-10-20T10:00", "day"]],
  ["30d", ["2026-09-27T23:00", "2026-10-27T10:00", "2026-08-28T23:00", "2026-09-27T10:00", "day"]],
  ["month", ["2026-09-30T23:00", "2026-10-27T10:00", "2026-08-31T23:00", "2026-09-27T10:00", "day"]],
] as const)("%s ends with the hour, and begins with a local day", (name, times) => {
  expect(timesOf(toPeriod(name, NOW))).toEqual(times);
});

it.each([
  [
    "2026-10-25",
    "2026-10-25",
    ["2026-10-24T23:00", "2026-10-26T00:00", "2026-10-23T23:00", "2026-10-24T23:00", "hour"],
  ],
  [
    "2026-10-01",
    "2026-10-31",
    ["2026-09-30T23:00", "2026-11-01T00:00", "2026-08-30T23:00", "2026-09-30T23:00", "day"],
  ],
  [
    "2026-01-01",
    "2026-06-30",
    ["2026-01-01T00:00", "2026-06-30T23:00", "2025-07-03T23:00", "2026-01-01T00:00", "week"],
  ],
  [
    "2020-01-01",
    "2025-12-31",
    ["2020-01-01T00:00", "2026-01-01T00:00", "2013-12-31T00:00", "2020-01-01T00:00", "month"],
  ],
] as const)("from %s to %s are whole local days, compared with as many before", (from, to, times) => {
  const period = toPeriod("custom", NOW, { from, to });

  expect(timesOf(period)).toEqual(times);
  expect(datesOf(period)).toEqual({ from, to });
});

it.each([
  ["2026-10-02", "2026-10-01"],
  ["2026-02-30", "2026-03-01"],
  ["1000-01-01", "2026-01-01"],
  ["1999-01-01", "2026-01-01"],
  ["yesterday", "2026-10-01"],
  ["2026-10-01T00:00", "2026-10-02"],
  [null, "2026-10-01"],
])("%s to %s are no dates", (from, to) => {
  expect(readDates(from, to)).toBeUndefined();
});
