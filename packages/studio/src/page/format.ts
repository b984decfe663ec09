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

/** An amount for a large figure. Above a thousand it is rounded: only its first digits are read. */
export function formatLargeAmount(amount: string, language: string): string {
  const size = Math.abs(Number(amount));
  if (size < 1_000) return amount;
  const digits = size < 1_000_000 ? 2 : 0;
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(Number(amount));
}

/** A number with at most one decimal, for a column whose header has the unit. */
export function formatNumber(value: number, language: string): string {
  return new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(value);
}

/** A duration in seconds, with tenths below a minute. */
export function formatDuration(milliseconds: number, language: string): string {
  return new Intl.NumberFormat(language, {
    style: "unit",
    unit: "second",
    unitDisplay: "narrow",
    maximumFractionDigits: milliseconds < 60_000 ? 1 : 0,
  }).format(milliseconds / 1000);
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** How long ago a time was, or how long it is from now, in its largest unit: "3 min ago". */
export function formatRelative(iso: string, language: string): string {
  const seconds = Math.round((Date.parse(iso) - Date.now()) / 1000);
  const [unit, size] = UNITS.find((each) => Math.abs(seconds) >= each[1]) ?? ["second", 1];
  const format = new Intl.RelativeTimeFormat(language, { style: "short", numeric: "auto" });
  return format.format(Math.round(seconds / size), unit);
}
