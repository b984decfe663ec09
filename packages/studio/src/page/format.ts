/** Shortens a long id in the middle. It is copied whole. */
export function shorten(id: string, length = 20): string {
  if (id.length <= length) return id;
  const half = Math.floor((length - 1) / 2);
  return `${id.slice(0, half)}…${id.slice(-half)}`;
}

/** A time in the person's time zone. */
export function formatTime(iso: string, language: string): string {
  return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" }).format(
    new Date(iso),
  );
}

/** The time of day at which something was read, in the person's time zone; with the date if it was another day. */
export function formatClock(time: number, language: string): string {
  const isToday = new Date(time).toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(language, {
    ...(isToday ? {} : { month: "short", day: "numeric" }),
    hour: "numeric",
    minute: "2-digit",
  }).format(time);
}

/** A time of a list, in the person's time zone. The year only if it is not the present one. */
export function formatShortTime(iso: string, language: string): string {
  const time = new Date(iso);
  const isThisYear = time.getFullYear() === new Date().getFullYear();
  return new Intl.DateTimeFormat(language, {
    ...(isThisYear ? {} : { year: "numeric" }),
    month: "short",
    day: "numeric",
    hour: "numeric",
    minute: "2-digit",
    second: "2-digit",
  }).format(time);
}

/** A whole number with separators. */
export function formatCount(count: number, language: string): string {
  return new Intl.NumberFormat(language).format(count);
}

/** An exact amount, with separators of thousands. No digit is lost. */
export function formatAmount(amount: string): string {
  return amount.replace(/^-?\d+/, (whole) => whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ","));
}

/** How many decimals amounts of lists and figures have at most, by their size. */
const SHORT_PLACES = [
  [1_000, 4],
  [1_000_000, 2],
  [Infinity, 0],
] as const;

/**
 * An amount of a list, a figure or a chart: at most 4 decimals, 2 from a thousand, none from a million, rounded half up, without
 * zeros at the end. One that would be 0 and is not is `<0.0001`. The exact amount is its title.
 */
export function formatShort(amount: string): string {
  // Numbers as strings are formatted exactly, whatever their length.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- amounts are decimal strings
  const exact = amount as `${number}`;
  const size = Math.abs(Number(amount));
  const [, places] = SHORT_PLACES.find(([end]) => size < end) ?? [0, 0];
  const written = new Intl.NumberFormat("en", { maximumFractionDigits: places }).format(exact);
  if (/[1-9]/.test(written) || !/[1-9]/.test(amount)) return written;
  return amount.startsWith("-") ? ">-0.0001" : "<0.0001";
}

/** The decimals of the longest of some written amounts. */
export function longestFraction(written: readonly string[]): number {
  return Math.max(0, ...written.map((amount) => amount.split(".")[1]?.length ?? 0));
}

/** The decimals of the longest amount of a column. */
export function placesOf(amounts: readonly (string | null | undefined)[]): number {
  return longestFraction(amounts.map((amount) => formatShort(amount ?? "0")));
}

/** The size of a file in megabytes, or in kilobytes, at least 1 kB. */
export function formatBytes(bytes: number, language: string): string {
  const isLarge = bytes >= 1_000_000;
  return new Intl.NumberFormat(language, {
    style: "unit",
    unit: isLarge ? "megabyte" : "kilobyte",
    maximumFractionDigits: 1,
  }).format(isLarge ? bytes / 1_000_000 : Math.ceil(bytes / 1_000));
}

/** A number with at most one decimal, for a column whose header has the unit. */
export function formatNumber(value: number, language: string): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(value);
}

/** Below this, a duration rounds to 0 seconds. */
const SHOWN_MS = 50;

/** A duration as a number of seconds, for a column whose header has the unit. */
export function formatSeconds(milliseconds: number, language: string): string {
  if (milliseconds > 0 && milliseconds < SHOWN_MS) return `<\u2009${formatNumber(0.1, language)}`;
  return formatNumber(milliseconds / 1000, language);
}

/** A duration in seconds, with tenths below a minute. One that would be 0 seconds is in milliseconds. */
export function formatDuration(milliseconds: number, language: string): string {
  if (milliseconds > 0 && milliseconds < SHOWN_MS) {
    return new Intl.NumberFormat(language, {
      style: "unit",
      unit: "millisecond",
      unitDisplay: "narrow",
      maximumFractionDigits: 0,
    }).format(milliseconds);
  }
  return new Intl.NumberFormat(language, {
    style: "unit",
    unit: "second",
    unitDisplay: "narrow",
    maximumFractionDigits: milliseconds < 60_000 ? 1 : 0,
  }).format(milliseconds / 1000);
}

/** The units with their seconds. A time that rounds to one of a unit is written in it: 3,590 seconds are an hour. */
const UNITS = [
  ["day", 86_400, 84_600],
  ["hour", 3_600, 3_570],
  ["minute", 60, 59.5],
  ["second", 1, 0],
] as const;

/** How long ago a time was, or how long it is from now, in its largest unit: "3 min ago". At least a second. */
export function formatRelative(iso: string, language: string): string {
  const exact = (Date.parse(iso) - Date.now()) / 1000;
  const seconds = exact > 0 ? Math.max(1, exact) : Math.min(-1, exact);
  const [unit, size] = UNITS.find(([, , least]) => Math.abs(seconds) >= least) ?? ["second", 1];
  const format = new Intl.RelativeTimeFormat(language, { style: "short", numeric: "auto" });
  return format.format(Math.round(seconds / size), unit);
}
