import type { CallerSort } from "../../wire.js";
import { addressOf, go } from "../router.js";

export const CALLER_SORTS = ["budget", "spent", "id"] as const satisfies readonly CallerSort[];
export const CALLER_STATES = ["fixed", "active", "user", "revoked", "damaged"] as const;

/** What the address of the view says. */
export interface CallerSelection {
  readonly sort: CallerSort;
  readonly q: string;
  /** Empty: all groups. */
  readonly group: string;
  /** Empty: all states. */
  readonly state: string;
  /** From 1. */
  readonly page: number;
  /** The id of the caller in the panel. */
  readonly caller: string | undefined;
}

export function readCallerSelection(query: URLSearchParams): CallerSelection {
  const page = Number(query.get("page"));
  return {
    sort: CALLER_SORTS.find((name) => name === query.get("sort")) ?? "budget",
    q: query.get("q") ?? "",
    group: query.get("group") ?? "",
    state: CALLER_STATES.find((name) => name === query.get("state")) ?? "",
    page: Number.isSafeInteger(page) && page > 1 ? page : 1,
    caller: query.get("caller") ?? undefined,
  };
}

/** The address of a selection. What is the default is left out. */
export function addressOfCallers(selection: CallerSelection): string {
  return addressOf("callers", { ...toFilters(selection), caller: selection.caller });
}

/** The query of the request for the list. The caller in the panel is not part of it. */
export function toListQuery(selection: CallerSelection): string {
  return new URLSearchParams(
    Object.entries(toFilters(selection)).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "",
    ),
  ).toString();
}

function toFilters({ sort, q, group, state, page }: CallerSelection): Record<string, string | undefined> {
  return {
    sort: sort === "budget" ? undefined : sort,
    q,
    group,
    state,
    page: page === 1 ? undefined : String(page),
  };
}

/** Goes to the selection. What a person types is not a step of its own in the history. */
export function goToCallers(selection: CallerSelection, options?: { readonly replace: boolean }): void {
  go(addressOfCallers(selection), options);
}
