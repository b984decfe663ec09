import type { Search } from "./find-order.ts";

/** What a check found. */
export interface Checked {
  /** Empty if one serial order explains all results. */
  readonly problems: readonly string[];
  /** What was left open, because the search took too long. */
  readonly undecided: readonly string[];
}

/** The result of a search for each of several objects. */
export function toChecked(results: readonly { readonly object: string; readonly search: Search }[]): Checked {
  return {
    problems: results.flatMap(({ object, search }) =>
      search.kind === "impossible"
        ? [`No order explains the results: ${object}, at ${search.at}\nafter ${search.why}`]
        : [],
    ),
    undecided: results.flatMap(({ object, search }) => (search.kind === "undecided" ? [object] : [])),
  };
}
