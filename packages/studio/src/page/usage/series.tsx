import type { Selection } from "./selection.js";

/** How many lines of the table have a part of their own in the chart. The others are one part. */
export const MAX_SERIES = 5;

/** The dimensions whose lines are parts of the chart: those that the ledger has totals of. */
const DIMENSIONS: ReadonlySet<string> = new Set(["caller", "model", "channel"]);
const MEASURES: ReadonlySet<string> = new Set(["spend", "images", "requests"]);

/** Whether the usage by a dimension over time is read from totals, and not from each record. */
export function hasTotals(by: Selection["by"]): boolean {
  return DIMENSIONS.has(by);
}

/** Whether the bars of the chart have a part for each line of the table. */
export function hasSeries({ by, measure }: Selection): boolean {
  return hasTotals(by) && MEASURES.has(measure);
}

/** The color of a line of the table in the chart. */
export function Swatch({ series }: { readonly series: number }) {
  return (
    <svg class={`swatch series-${Math.min(series, MAX_SERIES)}`} viewBox="0 0 10 10" aria-hidden="true">
      <rect width="10" height="10" rx="2" />
    </svg>
  );
}
