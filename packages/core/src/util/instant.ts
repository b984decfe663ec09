/**
 * ISO 8601 with a date, a time and a zone. A time without a zone would be a different instant on machines with
 * different time zones.
 */
const INSTANT =
  /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Returns the instant in milliseconds since 1970, or `undefined` if the value is neither a Date nor such a string. */
export function parseInstant(value: unknown): number | undefined {
  const milliseconds = value instanceof Date ? value.getTime() : parseString(value);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

function parseString(value: unknown): number {
  if (typeof value !== "string" || !INSTANT.test(value)) return Number.NaN;
  const date = value.slice(0, "2026-01-31".length);
  // Some runtimes read 30 February as 2 March. Every month has 28 days.
  const day = Number(date.slice(-2));
  if (day > 28 && new Date(`${date}T00:00:00Z`).getUTCDate() !== day) return Number.NaN;
  return Date.parse(value);
}

/**
 * Returns the instant of a string, in milliseconds since 1970.
 *
 * @param value ISO 8601 with a date, a time and a zone: `2026-01-31T00:00:00Z`, `2026-01-31T08:00+08:00`
 * @param name the name of the value in the error message
 * @throws RangeError for any other value, such as a date without a time, or a time without a zone
 */
export function toInstant(value: string, name: string): number {
  const instant = typeof value === "string" ? parseInstant(value) : undefined;
  if (instant !== undefined) return instant;
  throw new RangeError(
    `${name} must be an ISO 8601 time with a zone, such as "2026-01-31T00:00:00Z" or "2026-01-31T08:00:00+08:00", not ${JSON.stringify(value)}`,
  );
}
