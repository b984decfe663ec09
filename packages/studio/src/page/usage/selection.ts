import { addressOf, go } from "../router.js";
import { MEASURES, type Measure } from "./measures.js";
import { type Dates, PERIODS, type PeriodName, readDates, type Span } from "./period.js";

/** What the lines of the table can be. */
export const DIMENSIONS = ["caller", "model", "channel", "endUser", "tag"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/**
 * The filters, by their names in the address and in requests to the server. An empty string selects the requests without one:
 * `endUser=`, `tag=team=`.
 */
export const FILTERS = [...DIMENSIONS, "outcomes"] as const;
export type Filter = (typeof FILTERS)[number];

export const SORTS = ["time", "charge", "duration"] as const;
type Sort = (typeof SORTS)[number];

/** What the address of this view says. */
export interface Selection {
  readonly period: PeriodName;
  /** Of the period `custom`. */
  readonly dates: Dates | undefined;
  /** The part of the period that was selected in the chart. The figures, the table and the list are of it. */
  readonly span: Span | undefined;
  /** What the chart shows. */
  readonly measure: Measure;
  readonly by: Dimension;
  /** The tag whose values are the lines. */
  readonly tagKey: string;
  readonly sort: Sort;
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
  /** Whether the list has the requests that were refused before they reached a provider, and not those with a record. */
  readonly isRefused: boolean;
  /** The id of the request in the panel. */
  readonly request: string | undefined;
}

const DEFAULT_PERIOD = "7d";

export function readSelection(query: URLSearchParams): Selection {
  const filters = FILTERS.flatMap((name): [Filter, string][] => {
    const value = query.get(name);
    return value === null || (value === "" && name === "outcomes") ? [] : [[name, value]];
  });
  const dates = readDates(query.get("from"), query.get("to"));
  const period = PERIODS.find((name) => name === query.get("period")) ?? DEFAULT_PERIOD;
  return {
    period: period === "custom" && dates === undefined ? DEFAULT_PERIOD : period,
    dates: period === "custom" ? dates : undefined,
    span: readSpan(query.get("span")),
    measure: MEASURES.find((name) => name === query.get("chart")) ?? "spend",
    by: DIMENSIONS.find((name) => name === query.get("by")) ?? "caller",
    tagKey: query.get("tagKey") ?? "",
    sort: SORTS.find((name) => name === query.get("sort")) ?? "time",
    filters: Object.fromEntries(filters),
    isRefused: query.get("list") === "refused",
    request: query.get("request") ?? undefined,
  };
}

/** The address of a selection. What is the default is left out. */
export function addressOfSelection(selection: Selection): string {
  const { period, dates, span, measure, by, tagKey, sort, filters, isRefused, request } = selection;
  const query = new URLSearchParams();
  if (period !== DEFAULT_PERIOD) query.set("period", period);
  if (period === "custom" && dates !== undefined) {
    query.set("from", dates.from);
    query.set("to", dates.to);
  }
  if (span !== undefined) query.set("span", `${span.from}/${span.to}`);
  if (measure !== "spend") query.set("chart", measure);
  if (by !== "caller") query.set("by", by);
  if (by === "tag" && tagKey !== "") query.set("tagKey", tagKey);
  if (sort !== "time") query.set("sort", sort);
  for (const name of FILTERS) {
    const value = filters[name];
    if (value !== undefined) query.set(name, value);
  }
  if (isRefused) query.set("list", "refused");
  if (request !== undefined) query.set("request", request);
  const search = query.toString();
  return `${addressOf("usage")}${search === "" ? "" : `?${search}`}`;
}

/** The selection with another value of a filter. `undefined` removes it. */
export function withFilter(selection: Selection, name: Filter, value: string | undefined): Selection {
  const { [name]: _old, ...others } = selection.filters;
  return { ...selection, filters: value === undefined ? others : { ...others, [name]: value } };
}

export function goTo(selection: Selection): void {
  go(addressOfSelection(selection));
}

/** Reads an interval of ISO 8601, `2026-11-23T09:00:00.000Z/2026-11-23T10:00:00.000Z`. */
function readSpan(text: string | null): Span | undefined {
  const [from = Number.NaN, to = Number.NaN] = (text ?? "").split("/").map((time) => Date.parse(time));
  if (!(from < to)) return undefined;
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}
