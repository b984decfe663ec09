import * as fc from "fast-check";
import { Temporal } from "temporal-polyfill";
import { describe, expect, it } from "vitest";
import { type BudgetPeriod } from "../../billing/budget.js";
import { isTimeZone } from "../../util/time-zone.js";
import { findPeriod, findPeriodsAround, parsePeriodKey } from "./periods.js";

const HOUR_MS = 3_600_000;

const iso = (at: number): string => new Date(at).toISOString().replace(":00.000", "");

/** The same by the calendar of Temporal. */
function periodByTemporal({ unit, timeZone }: BudgetPeriod, instant: number): object {
  const local = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(timeZone);
  const firstOf = (date: Temporal.PlainDate): Temporal.PlainDate =>
    unit === "day"
      ? date
      : unit === "week"
        ? date.subtract({ days: date.dayOfWeek - 1 })
        : date.with({ day: 1 });
  const startOf = (date: Temporal.PlainDate): number =>
    date.toZonedDateTime(timeZone).startOfDay().epochMilliseconds;
  const step = { [`${unit}s`]: 1 };
  let first = firstOf(local.toPlainDate());
  // Clocks that are set back at midnight show the day before once more, after the day has begun.
  if (startOf(first.add(step)) <= instant) first = first.add(step);
  return {
    key: `${first.toString()} ${unit} ${timeZone}`,
    from: startOf(first),
    to: startOf(first.add(step)),
  };
}

const TIME_ZONES = Intl.supportedValuesOf("timeZone");

/** Near times at which clocks change: of each zone, the first change after a random time. */
const zonedInstant = fc
  .record({
    timeZone: fc.constantFrom(...TIME_ZONES),
    at: fc.integer({ min: Date.UTC(1975, 0, 1), max: Date.UTC(2036, 0, 1) }),
    nearChange: fc.boolean(),
    shift: fc.integer({ min: -26 * HOUR_MS, max: 26 * HOUR_MS }),
  })
  .map(({ timeZone, at, nearChange, shift }) => {
    const zoned = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone);
    const change = nearChange ? zoned.getTimeZoneTransition("next") : null;
    return { timeZone, instant: change === null ? at : change.epochMilliseconds + shift };
  });

const unit = fc.constantFrom("day" as const, "week" as const, "month" as const);

describe("findPeriod", () => {
  it("agrees with Temporal in all time zones, near changes of the clocks too", () => {
    fc.assert(
      fc.property(zonedInstant, unit, ({ timeZone, instant }, u) => {
        const period = { unit: u, timeZone };
        expect(findPeriod(period, instant)).toEqual(periodByTemporal(period, instant));
      }),
      { numRuns: 400 },
    );
  });

  it("has no gap and no overlap between periods, and reads their keys", () => {
    fc.assert(
      fc.property(zonedInstant, unit, ({ timeZone, instant }, u) => {
        const period = { unit: u, timeZone };
        const [before, present, after] = findPeriodsAround(period, instant);
        expect(present).toBe(findPeriod(period, instant));
        expect(before?.to).toBe(present?.from);
        expect(present?.to).toBe(after?.from);
        for (const span of [before, present, after]) {
          expect(span && parsePeriodKey(span.key)).toEqual({ ...span, ...period });
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    [
      "a quarter of an hour",
      "day",
      "Asia/Kathmandu",
      "2026-02-01T12:00Z",
      "2026-01-31T18:15Z",
      "2026-02-01T18:15Z",
    ],
    [
      "spring: 23 hours",
      "day",
      "Europe/London",
      "2026-03-29T12:00Z",
      "2026-03-29T00:00Z",
      "2026-03-29T23:00Z",
    ],
    [
      "autumn: 25 hours",
      "day",
      "Europe/London",
      "2026-10-25T12:00Z",
      "2026-10-24T23:00Z",
      "2026-10-26T00:00Z",
    ],
    [
      "midnight is skipped",
      "day",
      "America/Sao_Paulo",
      "2018-11-04T12:00Z",
      "2018-11-04T03:00Z",
      "2018-11-05T02:00Z",
    ],
    [
      "midnight comes twice",
      "day",
      "America/Havana",
      "2026-11-01T04:30Z",
      "2026-11-01T04:00Z",
      "2026-11-02T05:00Z",
    ],
    [
      "after a skipped day",
      "day",
      "Pacific/Apia",
      "2011-12-30T10:00Z",
      "2011-12-30T10:00Z",
      "2011-12-31T10:00Z",
    ],
    [
      "before a skipped day",
      "day",
      "Pacific/Apia",
      "2011-12-30T09:59Z",
      "2011-12-29T10:00Z",
      "2011-12-30T10:00Z",
    ],
    [
      "back over midnight",
      "day",
      "America/St_Johns",
      "2010-11-07T02:45Z",
      "2010-11-07T02:30Z",
      "2010-11-08T03:30Z",
    ],
    [
      "weeks begin on Monday",
      "week",
      "Europe/London",
      "2026-03-29T22:59Z",
      "2026-03-23T00:00Z",
      "2026-03-29T23:00Z",
    ],
    [
      "a month over new year",
      "month",
      "Asia/Tokyo",
      "2025-12-31T15:00Z",
      "2025-12-31T15:00Z",
      "2026-01-31T15:00Z",
    ],
  ] as const)("%s: a %s in %s", (_what, u, timeZone, instant, from, to) => {
    const found = findPeriod({ unit: u, timeZone }, Date.parse(instant));
    expect([iso(found.from), iso(found.to)]).toEqual([from, to]);
  });
});

it("a time zone is known by its name, not by an object or a long string", () => {
  expect(["UTC", "Asia/Tokyo"].every(isTimeZone)).toBe(true);
  expect(["", "Mars/Olympus", "x".repeat(100), undefined, 3].some(isTimeZone)).toBe(false);
});

it("another string is not a key of a period", () => {
  for (const key of [
    "",
    "2026-02-01",
    "2026-02-01 year UTC",
    "2026-99-99 day UTC",
    "2026-02-01 day Mars/Olympus",
  ]) {
    expect(parsePeriodKey(key)).toBeUndefined();
  }
});
