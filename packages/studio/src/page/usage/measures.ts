import type { UsageSums } from "../../wire.js";
import { formatCount, formatDuration, formatShort } from "../format.js";
import type { Messages } from "../messages/index.js";

/** What the chart can show. */
export const MEASURES = ["spend", "images", "requests", "failures", "time"] as const;
export type Measure = (typeof MEASURES)[number];

/** One of the parts of which a bar consists, from below, or one line. */
interface Part {
  readonly name: string;
  /** For its place in the chart only. `undefined`: there is nothing to show, such as the median of no requests. */
  readonly valueOf: (sums: UsageSums) => number | undefined;
}

/** How a measure is drawn, and how it is written. */
interface MeasureRules {
  readonly kind: "bars" | "lines";
  readonly parts: readonly Part[];
  /** Of the period before, as one thin line. */
  readonly before: (sums: UsageSums) => number | undefined;
  /** The exact value. */
  readonly write: (sums: UsageSums, messages: Messages) => string;
  /** A number at the axis. */
  readonly writeTick: (value: number, messages: Messages) => string;
}

/** Numbers of JavaScript are exact enough for the height of a bar. What is written has the decimals of the server. */
export const MEASURE_RULES: Readonly<Record<Measure, MeasureRules>> = {
  spend: {
    kind: "bars",
    parts: [{ name: "main", valueOf: ({ charge }) => Number(charge) }],
    before: ({ charge }) => Number(charge),
    write: ({ charge }) => formatShort(charge),
    writeTick: writeNumber,
  },
  images: {
    kind: "bars",
    parts: [{ name: "main", valueOf: ({ images }) => images }],
    before: ({ images }) => images,
    write: ({ images }, { language }) => formatCount(images, language),
    writeTick: writeNumber,
  },
  requests: {
    kind: "bars",
    parts: [
      { name: "main", valueOf: (sums) => sums.requests - countFailing(sums) },
      { name: "failing", valueOf: countFailing },
    ],
    before: ({ requests }) => requests,
    write: (sums, { usage: text, language }) =>
      text.requestsPoint(formatCount(sums.requests, language), formatCount(countFailing(sums), language)),
    writeTick: writeNumber,
  },
  failures: {
    kind: "bars",
    parts: [
      { name: "refused", valueOf: ({ refused }) => refused },
      { name: "failed", valueOf: ({ failed }) => failed },
      { name: "unresolved", valueOf: ({ unresolved }) => unresolved },
    ],
    before: countFailing,
    write: ({ refused, failed, unresolved }, { usage: text, language }) =>
      text.failuresPoint(
        formatCount(refused, language),
        formatCount(failed, language),
        formatCount(unresolved, language),
      ),
    writeTick: writeNumber,
  },
  time: {
    kind: "lines",
    parts: [
      { name: "median", valueOf: ({ medianMs }) => toSeconds(medianMs) },
      { name: "p95", valueOf: ({ p95Ms }) => toSeconds(p95Ms) },
    ],
    before: ({ medianMs }) => toSeconds(medianMs),
    write: ({ medianMs, p95Ms }, { usage: text, language }) =>
      medianMs === undefined || p95Ms === undefined
        ? "–"
        : text.timePoint(formatDuration(medianMs, language), formatDuration(p95Ms, language)),
    writeTick: (value, { language }) => formatDuration(value * 1000, language),
  },
};

/** Requests that reached a provider and were refused or failed, or whose outcome is not known. */
export function countFailing({ refused, failed, unresolved }: UsageSums): number {
  return refused + failed + unresolved;
}

function toSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / 1000;
}

function writeNumber(value: number, { language }: Messages): string {
  return new Intl.NumberFormat(language, { notation: "compact", maximumSignificantDigits: 4 }).format(value);
}
