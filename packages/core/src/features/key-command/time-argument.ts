import { invalidRequest } from "../../errors.js";
import { parseInstant } from "../../util/instant.js";
import { findPeriod, parsePeriodKey } from "../periods/periods.js";

/** How times are read. */
export interface TimeRules {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Of days such as `yesterday` and `2026-11-01`. */
  readonly timeZone: string;
  /** 1 if `7d` is in seven days, -1 if it was seven days ago. */
  readonly direction: 1 | -1;
}

const HOUR_MS = 3_600_000;
const UNITS_MS: Readonly<Record<string, number>> = { h: HOUR_MS, d: 24 * HOUR_MS, w: 7 * 24 * HOUR_MS };

/**
 * Reads a time as people write it: `2026-01-31T00:00:00Z`, the beginning of a day (`2026-01-31`, `today`, `yesterday`,
 * `tomorrow`), or hours, days or weeks from now (`24h`, `7d`, `2w`). Returns ISO 8601.
 *
 * @param name the name of the option
 * @throws GatewayError `invalid_request_error`
 */
export function parseTime(written: string, name: string, rules: TimeRules): string {
  if (parseInstant(written) !== undefined) return written;
  const instant = findDay(written, rules) ?? findDistance(written, rules);
  if (instant !== undefined) return new Date(instant).toISOString();
  throw invalidRequest(
    `--${name} must be a time with a zone such as 2026-01-31T00:00:00Z, a day such as 2026-01-31, today, yesterday or tomorrow, or a time from now such as 24h, 7d or 2w.`,
    name,
  );
}

/** The beginning of a day. */
function findDay(written: string, { now, timeZone }: TimeRules): number | undefined {
  const today = findPeriod({ unit: "day", timeZone }, now);
  if (written === "today") return today.from;
  if (written === "tomorrow") return today.to;
  if (written === "yesterday") return findPeriod({ unit: "day", timeZone }, today.from - 1).from;
  const isDay = parseInstant(`${written}T00:00:00Z`) !== undefined;
  return isDay ? parsePeriodKey(`${written} day ${timeZone}`)?.from : undefined;
}

function findDistance(written: string, { now, direction }: TimeRules): number | undefined {
  const [, count, unit = ""] = /^(\d{1,4})([hdw])$/.exec(written) ?? [];
  const unitMs = UNITS_MS[unit];
  return unitMs === undefined ? undefined : now + direction * Number(count) * unitMs;
}
