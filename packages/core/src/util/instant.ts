/**
 * ISO 8601 with a date, a time and a zone. A time without a zone would be a different instant on machines with
 * different time zones.
 */
const INSTANT =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Returns the instant in milliseconds since 1970, or `undefined` if the value is neither a Date nor such a string. */
export function parseInstant(value: unknown): number | undefined {
  const milliseconds = value instanceof Date ? value.getTime() : isInstant(value) ? Date.parse(value) : NaN;
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

function isInstant(value: unknown): value is string {
  if (typeof value !== "string" || !INSTANT.test(value)) return false;
  const date = value.slice(0, "2026-01-31".length);
  const day = date.slice(-2);
  // Some runtimes read 30 February as 2 March. Every month has 28 days.
  return day <= "28" || new Date(`${date}T00:00:00Z`).getUTCDate() === Number(day);
}

/**
 * Returns the instant of a string, in milliseconds since 1970.
 *
 * @param value ISO 8601 with a date, a time and a zone: `2026-01-31T00:00:00Z`, `2026-01-31T08:00+08:00`
 * @param name the name of the value in the error message
 * @throws RangeError for any other value, such as a date without a time, or a time without a zone
 */
export function toInstant(value: string, name: string): number {
  checkInstant(value, name);
  return Date.parse(value);
}

/** Throws as {@link toInstant} does. A time that is only checked need not be parsed. */
export function checkInstant(value: string, name: string): void {
  if (isInstant(value)) return;
  throw new RangeError(
    `${name} must be an ISO 8601 time with a zone, such as "2026-01-31T00:00:00Z" or "2026-01-31T08:00:00+08:00", not ${JSON.stringify(value)}`,
  );
}
