import type { UsageReport } from "../../wire.js";

type Buckets = UsageReport["series"]["buckets"];

const HOUR_MS = 3_600_000;
/** Every so many buckets there may be a text at the axis. */
const STEPS = { hours: [1, 2, 3, 4, 6, 12, 24, 48], others: [1, 2, 3, 5, 7, 10, 14, 21, 28, 56] } as const;

/** The times of the buckets of a chart in words, in the person's time zone. */
export class BucketText {
  readonly #starts: readonly Date[];
  readonly #ends: readonly Date[];
  readonly #language: string;
  readonly isByHour: boolean;

  constructor(buckets: Buckets, language: string) {
    this.#starts = buckets.map(({ from }) => new Date(from));
    this.#ends = buckets.map(({ to }) => new Date(to));
    this.#language = language;
    // The first and the last bucket may be cut.
    this.isByHour = buckets.some(({ from, to }) => Date.parse(to) - Date.parse(from) === HOUR_MS);
  }

  get count(): number {
    return this.#starts.length;
  }

  /** The hour of the day at which a bucket begins. */
  hourOf(index: number): number {
    return this.#starts[index]?.getHours() ?? 0;
  }

  /** For the axis. */
  short(index: number): string {
    const isHour = this.isByHour && this.hourOf(index) !== 0;
    return this.#write(index, isHour ? { hour: "numeric" } : { month: "short", day: "numeric" });
  }

  /** For the value that is shown. */
  long(index: number): string {
    const start = this.#starts[index];
    const end = this.#ends[index];
    if (start === undefined || end === undefined) return "";
    return writeSpan({ from: start.toISOString(), to: end.toISOString() }, this.#language);
  }

  #write(index: number, options: Intl.DateTimeFormatOptions): string {
    const start = this.#starts[index];
    return start === undefined ? "" : new Intl.DateTimeFormat(this.#language, options).format(start);
  }
}

/** Which buckets have a text at the axis, so that at most `room` texts are needed. Hours are even ones of the day. */
export function chooseTicks(times: BucketText, room: number): readonly number[] {
  const steps = times.isByHour ? STEPS.hours : STEPS.others;
  const step = steps.find((each) => times.count / each <= Math.max(1, room)) ?? times.count;
  return Array.from({ length: times.count }, (_, index) => index).filter((index) =>
    times.isByHour && step <= 24 ? times.hourOf(index) % step === 0 : index % step === 0,
  );
}

/** A part of time in words: times of a day, one day, or from one day to another. */
export function writeSpan(
  { from, to }: { readonly from: string; readonly to: string },
  language: string,
): string {
  const [start, end] = [new Date(from), new Date(to)];
  const last = new Date(Date.parse(to) - 1);
  const isThisYear = start.getFullYear() === new Date().getFullYear();
  const day: Intl.DateTimeFormatOptions = {
    ...(isThisYear ? { weekday: "short" } : { year: "numeric" }),
    month: "short",
    day: "numeric",
  };
  const isByDay = isMidnight(start) && Date.parse(to) - Date.parse(from) > HOUR_MS;
  if (isByDay) return new Intl.DateTimeFormat(language, day).formatRange(start, last);
  const time = chooseTime(language, [start, end]);
  const [whole, clock] = [{ ...day, ...time }, time].map(
    (options) => new Intl.DateTimeFormat(language, options),
  );
  const isOneDay = start.toDateString() === last.toDateString();
  return `${whole?.format(start)} – ${(isOneDay ? clock : whole)?.format(end)}`;
}

/** How times of the day are written: "9 AM" in place of "9:00 AM" where that is common. */
function chooseTime(language: string, times: readonly Date[]): Intl.DateTimeFormatOptions {
  const { hour12 } = new Intl.DateTimeFormat(language, { hour: "numeric" }).resolvedOptions();
  const isFull = hour12 === true && times.every((time) => time.getMinutes() === 0);
  return isFull ? { hour: "numeric" } : { hour: "numeric", minute: "2-digit" };
}

function isMidnight(time: Date): boolean {
  return time.getHours() === 0 && time.getMinutes() === 0;
}
