import type { Refusal } from "./refusal.js";

/** Selects refusals. An absent field selects all. */
export interface RefusalQuery {
  /** Refused at this time or later, ISO 8601 … */
  readonly from?: string | undefined;
  /** … and before this time. */
  readonly to?: string | undefined;
  readonly caller?: string | undefined;
  readonly model?: string | undefined;
  /** The largest number of {@link RefusalList.refusals}, from 1 to 1,000. Default 100. The counts are of all. */
  readonly limit?: number | undefined;
}

/** The refusals that a query selects, of those that are kept. */
export interface RefusalList {
  /** The newest first. */
  readonly refusals: readonly Refusal[];
  /** How many there are of each status and code, the most first. */
  readonly counts: readonly RefusalCount[];
}

/** How many requests were refused with a status and a code. */
export interface RefusalCount {
  readonly status: number;
  readonly code: string;
  readonly requests: number;
}

/** A query whose times are those of `Date.toISOString`, which sort like their strings. */
export type StoredRefusalQuery = Omit<RefusalQuery, "limit"> & { readonly limit: number };

/** Selects and counts refusals that are in memory, the oldest first. */
export function listRefusals(all: readonly Refusal[], query: StoredRefusalQuery): RefusalList {
  const { from = "", to, caller, model, limit } = query;
  const selected = all.filter(
    (refusal) =>
      refusal.time >= from &&
      (to === undefined || refusal.time < to) &&
      (caller === undefined || refusal.caller === caller) &&
      (model === undefined || refusal.model === model),
  );
  const groups = Map.groupBy(selected, ({ status, code }) => JSON.stringify([status, code]));
  const counts = [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [{ status: first.status, code: first.code, requests: group.length }];
  });
  return {
    refusals: selected.toReversed().slice(0, limit),
    counts: counts.toSorted((one, other) => other.requests - one.requests),
  };
}

/**
 * Checks a query, and writes its times in one form.
 *
 * @throws RangeError that names the field
 */
export function checkRefusalQuery({
  limit = 100,
  from,
  to,
  caller,
  model,
}: RefusalQuery): StoredRefusalQuery {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
    throw new RangeError("limit must be a whole number from 1 to 1,000.");
  }
  return { from: toIso(from, "from"), to: toIso(to, "to"), caller, model, limit };
}

function toIso(time: string | undefined, name: string): string | undefined {
  if (time === undefined) return undefined;
  const at = new Date(time);
  if (Number.isNaN(at.getTime()))
    throw new RangeError(`${name} must be a time such as 2026-11-23T09:00:00Z.`);
  return at.toISOString();
}
