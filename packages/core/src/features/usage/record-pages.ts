import type { UsageRecord } from "../../billing/records.js";
import { toInstant } from "../../util/instant.js";
import { readListLimit } from "../../util/list-limit.js";
import type { PageCursor, PageQuery } from "./history-store.js";
import { readFacts } from "./usage-counts.js";
import type { RecordPage, RecordQuery, UsageOutcome } from "./usage-history.js";

const MAX_LIMIT = 500;
const OUTCOMES: readonly unknown[] = [
  "succeeded",
  "refused",
  "failed",
  "unresolved",
  "released",
] satisfies readonly UsageOutcome[];
const SORTS: readonly unknown[] = ["time", "charge", "duration"] satisfies readonly PageQuery["sort"][];

/**
 * Reads a query for a page, or for a list.
 *
 * @throws RangeError that names the field
 */
export function readPageQuery(query: RecordQuery, maxLimit = MAX_LIMIT): PageQuery {
  const { outcomes, sort = "time", order = "descending", limit = 50, cursor, ...filter } = query;
  if (!SORTS.includes(sort)) throw new RangeError(`sort must be time, charge or duration`);
  if (order !== "descending" && order !== "ascending")
    throw new RangeError("order must be descending or ascending");
  for (const name of ["from", "to"] as const) {
    const time = filter[name];
    if (time !== undefined) toInstant(time, name);
  }
  return {
    filter,
    outcomes: readOutcomes(outcomes),
    sort,
    isDescending: order === "descending",
    limit: readListLimit(limit, maxLimit),
    after: cursor === undefined ? undefined : readCursor(cursor, sort),
  };
}

/**
 * Reads a selection of outcomes, each of them once.
 *
 * @throws RangeError if it is not a list of outcomes
 */
export function readOutcomes(
  outcomes: readonly UsageOutcome[] | undefined,
): readonly UsageOutcome[] | undefined {
  if (outcomes === undefined) return undefined;
  if (!(Array.isArray(outcomes) && outcomes.every((one) => OUTCOMES.includes(one)))) {
    throw new RangeError(`outcomes must be a list of ${OUTCOMES.join(", ")}`);
  }
  return [...new Set(outcomes)];
}

/** Makes a page of the records that were found: one more than its limit, if there are more. */
export function toPage({ sort, limit }: PageQuery, found: readonly UsageRecord[]): RecordPage {
  const records = found.slice(0, limit);
  const last = records.at(-1);
  if (found.length === records.length || last === undefined) return { records };
  const { value, time, id } = toCursor(last, sort);
  return { records, next: JSON.stringify([sort, value, time, id]) };
}

/** The place of a record in the order of pages. */
export function toCursor(record: UsageRecord, sort: PageQuery["sort"]): PageCursor {
  const time = Date.parse(record.time);
  const values = {
    // The time is compared anyway.
    time: () => "0",
    charge: () => record.charge ?? "0",
    duration: () => String(readFacts(record).durationMs ?? 0),
  };
  return { value: values[sort](), time, id: record.id };
}

function readCursor(cursor: string, sort: PageQuery["sort"]): PageCursor {
  const [itsSort, value, time, id] = parseArray(cursor);
  if (
    itsSort === sort &&
    typeof value === "string" &&
    /^\d{1,500}(?:\.\d{1,500})?$/.test(value) &&
    Number.isSafeInteger(time) &&
    typeof id === "string"
  ) {
    return { value, time: Number(time), id };
  }
  throw new RangeError("cursor must be the one of a page with the same sort");
}

function parseArray(json: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value : [];
  } catch {
    // Not JSON, so it is not a cursor. The caller throws the error that says so.
    return [];
  }
}
