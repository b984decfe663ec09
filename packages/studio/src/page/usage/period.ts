/** The periods that can be chosen. */
export const PERIODS = ["24h", "7d", "30d", "month"] as const;
export type PeriodName = (typeof PERIODS)[number];

/** What the server is asked for. All times are ISO 8601. */
export interface Period {
  readonly from: string;
  readonly to: string;
  readonly previousFrom: string;
  readonly previousTo: string;
  readonly bucket: "hour" | "day";
  readonly timeZone: string;
}

const HOUR_MS = 3_600_000;

/**
 * A period up to the present in the person's time zone, and the one before it up to the same time. It ends with the hour, so
 * that the server reads totals, and clocks that differ a little hide no request.
 */
export function toPeriod(name: PeriodName, now: number): Period {
  const end = new Date(Math.floor(now / HOUR_MS) * HOUR_MS + HOUR_MS);
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (name === "24h") {
    const day = 24 * HOUR_MS;
    return {
      ...toTimes(+end - day, +end, +end - 2 * day, +end - day),
      bucket: "hour",
      timeZone,
    };
  }
  const today = new Date(now);
  const [year, month, date] = [today.getFullYear(), today.getMonth(), today.getDate()];
  // A Date counts days of 23 and 25 hours, and months of any length.
  const days = name === "7d" ? 7 : 30;
  const from = name === "month" ? new Date(year, month, 1) : new Date(year, month, date - days + 1);
  const previousFrom =
    name === "month" ? new Date(year, month - 1, 1) : new Date(year, month, date - 2 * days + 1);
  const previousTo = Math.min(+from, +previousFrom + (+end - +from));
  return { ...toTimes(+from, +end, +previousFrom, previousTo), bucket: "day", timeZone };
}

function toTimes(
  from: number,
  to: number,
  previousFrom: number,
  previousTo: number,
): Pick<Period, "from" | "to" | "previousFrom" | "previousTo"> {
  return {
    from: write(from),
    to: write(to),
    previousFrom: write(previousFrom),
    previousTo: write(previousTo),
  };
}

function write(time: number): string {
  return new Date(time).toISOString();
}
