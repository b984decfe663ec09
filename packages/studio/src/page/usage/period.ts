/** The periods that can be chosen. `custom` is from one date to another. */
export const PERIODS = ["24h", "yesterday", "7d", "30d", "month", "custom"] as const;
export type PeriodName = (typeof PERIODS)[number];

/** The first and the last date of a custom period, such as `2026-11-23`: those of the person's time zone. */
export interface Dates {
  readonly from: string;
  readonly to: string;
}

/** A time from `from` to, not including, `to`. Both are ISO 8601. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

/** What the server is asked for. All times are ISO 8601. */
export interface Period extends Span {
  readonly previousFrom: string;
  readonly previousTo: string;
  readonly bucket: "hour" | "day" | "week" | "month";
  readonly timeZone: string;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Of the custom period: the server takes at most 1,000 buckets. */
const MAX_DAYS = 20 * 366;

/**
 * A period in the person's time zone, and the one before it, of the same length. A period up to the present ends with the hour,
 * so that the server reads totals, and clocks that differ a little hide no request.
 */
export function toPeriod(name: PeriodName, now: number, dates?: Dates): Period {
  const end = Math.floor(now / HOUR_MS) * HOUR_MS + HOUR_MS;
  if (name === "24h") return show(end - DAY_MS, end, end - 2 * DAY_MS, end - DAY_MS, "hour");
  const today = new Date(now);
  if (name === "yesterday") {
    return show(addDays(today, -1), addDays(today, 0), addDays(today, -2), addDays(today, -1), "hour");
  }
  if (name === "custom" && dates !== undefined) return toCustomPeriod(dates);
  const [year, month] = [today.getFullYear(), today.getMonth()];
  const days = name === "30d" ? 30 : 7;
  const from = name === "month" ? +new Date(year, month, 1) : addDays(today, 1 - days);
  const previousFrom = name === "month" ? +new Date(year, month - 1, 1) : addDays(today, 1 - 2 * days);
  return show(from, end, previousFrom, Math.min(from, previousFrom + (end - from)), "day");
}

/** Reads the dates of a custom period. `undefined` if one of them is no date, or the last is before the first. */
export function readDates(from: string | null, to: string | null): Dates | undefined {
  const [first, last] = [readDate(from), readDate(to)];
  if (from === null || to === null || first === undefined || last === undefined) return undefined;
  return first <= last && countDays(first, last) <= MAX_DAYS ? { from, to } : undefined;
}

/** The dates of a period, for a form that changes them. */
export function datesOf({ from, to }: Span): Dates {
  return { from: toDate(new Date(from)), to: toDate(new Date(Date.parse(to) - 1)) };
}

function toCustomPeriod({ from, to }: Dates): Period {
  const [first, last] = [readDate(from) ?? new Date(), readDate(to) ?? new Date()];
  const days = countDays(first, last);
  const bucket = days <= 2 ? "hour" : days <= 92 ? "day" : days <= 732 ? "week" : "month";
  return show(+first, addDays(last, 1), addDays(first, -days), +first, bucket);
}

/** A local date. Dates that do not exist, such as 30 February, are none. */
function readDate(text: string | null): Date | undefined {
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text ?? "") ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  return text !== null && year >= "1970" && toDate(date) === text ? date : undefined;
}

function toDate(date: Date): string {
  const [month, day] = [date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, "0"));
  return `${date.getFullYear()}-${month}-${day}`;
}

/** The number of dates from one to another, both included. Days have 23 to 25 hours. */
function countDays(first: Date, last: Date): number {
  return Math.round((+last - +first) / DAY_MS) + 1;
}

/** When a local date begins that is some days later. A Date counts days of 23 and 25 hours. */
function addDays(date: Date, days: number): number {
  return +new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);
}

function show(
  from: number,
  to: number,
  previousFrom: number,
  previousTo: number,
  bucket: Period["bucket"],
): Period {
  const [iso, timeZone] = [
    [from, to, previousFrom, previousTo].map((time) => new Date(time).toISOString()),
    Intl.DateTimeFormat().resolvedOptions().timeZone,
  ];
  const [first = "", end = "", before = "", beforeEnd = ""] = iso;
  return { from: first, to: end, previousFrom: before, previousTo: beforeEnd, bucket, timeZone };
}
