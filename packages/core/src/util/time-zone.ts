/** The longest name of a time zone that is accepted. */
const MAX_ZONE_LENGTH = 64;

/** Whether `Intl` knows the time zone, and every ledger can keep its name. */
export function isTimeZone(value: unknown): boolean {
  return typeof value === "string" && value.length <= MAX_ZONE_LENGTH && findFormat(value) !== undefined;
}

/** There are about 600 time zones; a server uses few of them. */
const MAX_FORMATS = 1_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** A format takes about 50 µs to create. */
export function findFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (formats.size >= MAX_FORMATS) formats.clear();
    formats.set(timeZone, format);
    return format;
  } catch {
    // A RangeError: the runtime does not have this time zone. Those who need it report that.
    return undefined;
  }
}
