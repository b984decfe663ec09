import { type BudgetPeriod, checkPeriod, isPeriodUnit, type PeriodUnit } from "../../billing/budget.js";
import { findFormat, isTimeZone } from "../../util/time-zone.js";

/** One period: the times from `from` to, not including, `to`. */
export interface PeriodSpan {
  /**
   * Its first day in its time zone, its unit and its time zone, such as `2026-02-01 month Asia/Tokyo`. It stays the same
   * if the rules of the time zone change.
   */
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
}

/** The maximum number of remembered spans. There are about 600 time zones; a server uses few of them. */
const MAX_REMEMBERED = 1_000;
const remembered = new Map<string, PeriodSpan>();

/**
 * Returns the period that contains a time. A day begins at its first midnight, or where a change of the clocks skips
 * midnight, at that change. So a day has 23 to 25 hours, and no time is in two periods or in none.
 *
 * @param instant milliseconds since 1970
 * @throws RangeError for an unknown unit or time zone
 * @example
 * ```ts
 * import { findPeriod } from "@calotype/core/billing";
 *
 * const month = findPeriod({ unit: "month", timeZone: "Asia/Tokyo" }, Date.UTC(2026, 1, 14));
 * console.log(month.key, new Date(month.from).toISOString()); // 2026-02-01 month Asia/Tokyo, 2026-01-31T15:00:00.000Z
 * ```
 */
export function findPeriod(period: BudgetPeriod, instant: number): PeriodSpan {
  const name = `${period.unit} ${period.timeZone}`;
  const last = remembered.get(name);
  // Almost every call is for the present period.
  if (last !== undefined && instant >= last.from && instant < last.to) return last;
  checkPeriod(period);
  const span = computeSpan(period, instant);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(name, span);
  return span;
}

/**
 * Returns the period before the one that contains a time, that one, and the one after it. For a ledger whose clock is not
 * the clock of this process: it chooses among them by its own clock, in the step in which it makes the hold.
 */
export function findPeriodsAround(period: BudgetPeriod, instant: number): readonly PeriodSpan[] {
  const present = findPeriod(period, instant);
  const around = neighbours.get(present) ?? [
    computeSpan(period, present.from - 1),
    present,
    computeSpan(period, present.to),
  ];
  neighbours.set(present, around);
  return around;
}

/** By the spans that are remembered. */
const neighbours = new WeakMap<PeriodSpan, readonly PeriodSpan[]>();

/** Reads the key of a period. `undefined` if it is not one, or its time zone is unknown here. */
export function parsePeriodKey(key: string): (BudgetPeriod & PeriodSpan) | undefined {
  const [, date = "", unit = "", timeZone = ""] = /^(\d{4}-\d\d-\d\d) (day|week|month) (.+)$/.exec(key) ?? [];
  if (!isPeriodUnit(unit) || !isTimeZone(timeZone)) return undefined;
  const day = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(day)) return undefined;
  const [from, to] = [startOfDay(timeZone, day), startOfDay(timeZone, addUnit(unit, day, 1))];
  return { unit, timeZone, key, from, to };
}

const DAY_MS = 86_400_000;

/**
 * In this file a date is the time in milliseconds at which it begins in UTC. The periods around the local date are tried,
 * because clocks that are set back at midnight show yesterday's date once more after the day has begun.
 */
function computeSpan({ unit, timeZone }: BudgetPeriod, instant: number): PeriodSpan {
  const localDate = Math.floor((instant + offsetAt(timeZone, instant)) / DAY_MS) * DAY_MS;
  let first = addUnit(unit, startOfUnit(unit, localDate), 1);
  while (startOfDay(timeZone, first) > instant) first = addUnit(unit, first, -1);
  const from = startOfDay(timeZone, first);
  // A day that a time zone skipped, such as 30 December 2011 in Samoa, has no time in it.
  let next = addUnit(unit, first, 1);
  while (startOfDay(timeZone, next) <= instant) next = addUnit(unit, next, 1);
  const key = `${new Date(first).toISOString().slice(0, "2026-01-31".length)} ${unit} ${timeZone}`;
  return { key, from, to: startOfDay(timeZone, next) };
}

function startOfUnit(unit: PeriodUnit, date: number): number {
  if (unit === "day") return date;
  const day = new Date(date);
  // getUTCDay counts from Sunday.
  if (unit === "week") return date - ((day.getUTCDay() + 6) % 7) * DAY_MS;
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1);
}

function addUnit(unit: PeriodUnit, date: number, count: number): number {
  if (unit === "day") return date + count * DAY_MS;
  if (unit === "week") return date + 7 * count * DAY_MS;
  const day = new Date(date);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + count, day.getUTCDate());
}

/** The first time of a date in a time zone. */
function startOfDay(timeZone: string, date: number): number {
  const [before, after] = [offsetAt(timeZone, date - DAY_MS), offsetAt(timeZone, date + DAY_MS)];
  const midnights = [date - before, date - after].filter((at) => at + offsetAt(timeZone, at) === date);
  if (midnights.length > 0) return Math.min(...midnights);
  // The clocks skip midnight, between these two times.
  return findChange(timeZone, date - after, date - before);
}

/** The first time with another offset than at `low`. */
function findChange(timeZone: string, low: number, high: number): number {
  const offset = offsetAt(timeZone, low);
  let [same, changed] = [low, high];
  while (changed - same > 1) {
    const middle = Math.floor((same + changed) / 2);
    if (offsetAt(timeZone, middle) === offset) same = middle;
    else changed = middle;
  }
  return changed;
}

/** Local time minus UTC, in milliseconds. */
function offsetAt(timeZone: string, instant: number): number {
  const format = findFormat(timeZone);
  if (format === undefined) throw new RangeError(`There is no time zone ${timeZone}.`);
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  const local = Date.UTC(year, month - 1, day, hour, minute, second);
  return local - Math.floor(instant / 1000) * 1000;
}
