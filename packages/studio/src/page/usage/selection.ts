import { addressOf, go } from "../router.js";
import { PERIODS, type PeriodName } from "./period.js";

/** What the lines of the table can be. */
export const DIMENSIONS = ["caller", "model", "channel", "endUser", "tag"] as const;
type Dimension = (typeof DIMENSIONS)[number];

/** The filters, by their names in the address and in requests to the server. */
export const FILTERS = ["caller", "model", "channel", "endUser", "tag", "outcomes"] as const;
export type Filter = (typeof FILTERS)[number];

export const SORTS = ["time", "charge", "duration"] as const;
type Sort = (typeof SORTS)[number];

/** What the address of this view says. */
export interface Selection {
  readonly period: PeriodName;
  readonly by: Dimension;
  /** The tag whose values are the lines. */
  readonly tagKey: string;
  readonly sort: Sort;
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
  /** The id of the request in the panel. */
  readonly request: string | undefined;
}

export function readSelection(query: URLSearchParams): Selection {
  const filters = FILTERS.flatMap((name): [Filter, string][] => {
    const value = query.get(name);
    return value === null || value === "" ? [] : [[name, value]];
  });
  return {
    period: PERIODS.find((name) => name === query.get("period")) ?? "7d",
    by: DIMENSIONS.find((name) => name === query.get("by")) ?? "caller",
    tagKey: query.get("tagKey") ?? "",
    sort: SORTS.find((name) => name === query.get("sort")) ?? "time",
    filters: Object.fromEntries(filters),
    request: query.get("request") ?? undefined,
  };
}

/** The address of a selection. What is the default is left out. */
export function addressOfSelection({ period, by, tagKey, sort, filters, request }: Selection): string {
  return addressOf("usage", {
    period: period === "7d" ? undefined : period,
    by: by === "caller" ? undefined : by,
    tagKey: by === "tag" ? tagKey : undefined,
    sort: sort === "time" ? undefined : sort,
    ...filters,
    request,
  });
}

/** The selection with another value of a filter. `undefined` removes it. */
export function withFilter(selection: Selection, name: Filter, value: string | undefined): Selection {
  const { [name]: _old, ...others } = selection.filters;
  return { ...selection, filters: value === undefined ? others : { ...others, [name]: value } };
}

export function goTo(selection: Selection): void {
  go(addressOfSelection(selection));
}
