/** A date, a time and a zone; without the zone it would mean another moment on each machine. */
const MOMENT = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** The moment that `expiresAt` means, in milliseconds since 1970, or `undefined` when it means none. */
export function parseExpiry(value: unknown): number | undefined {
  const time = value instanceof Date ? value.getTime() : parseMoment(value);
  return Number.isNaN(time) ? undefined : time;
}

function parseMoment(value: unknown): number {
  const [text, year, month, day] = (typeof value === "string" && MOMENT.exec(value)) || [];
  if (text === undefined) return Number.NaN;
  // Some runtimes take the 30th of February for the 2nd of March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCDate() === Number(day) ? Date.parse(text) : Number.NaN;
}
