import { GatewayError } from "@calotype/core";
import type { RecordFilter, RecordQuery, SeriesQuery } from "@calotype/core/billing";
import type { RefusalQuery } from "@calotype/core/operator";

/** The longest name of a caller, model or channel, in bytes. No other filter is longer. */
const MAX_LENGTH = 512;

/**
 * Reads the fields of `GET api/usage`. The gateway checks what is not checked here.
 *
 * @throws GatewayError that names the wrong field
 */
export function readSeriesQuery(query: URLSearchParams): SeriesQuery {
  const by = readText(query, "by");
  return {
    ...readFilter(query),
    from: readTime(query, "from"),
    to: readTime(query, "to"),
    outcomes: readOutcomes(query),
    // The gateway checks both.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    bucket: readText(query, "bucket") as SeriesQuery["bucket"],
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    by: by as SeriesQuery["by"],
    timeZone: readText(query, "timeZone"),
    limit: readNumber(query, "limit"),
  };
}

/**
 * Reads the period that a series is compared with: `previousFrom` and `previousTo`. `undefined`: there is none.
 *
 * @throws GatewayError that names the wrong field
 */
export function readPrevious(query: URLSearchParams): Pick<SeriesQuery, "from" | "to"> | undefined {
  if (!query.has("previousFrom") && !query.has("previousTo")) return undefined;
  return { from: readTime(query, "previousFrom"), to: readTime(query, "previousTo") };
}

/**
 * Reads the fields of `GET api/records`. The gateway checks what is not checked here.
 *
 * @throws GatewayError that names the wrong field
 */
export function readRecordQuery(query: URLSearchParams): RecordQuery {
  const sort = readText(query, "sort");
  if (sort !== undefined && sort !== "time" && !query.has("from")) {
    throw invalid("from is required with this sort: it reads every record of the period.", "from");
  }
  return {
    ...readFilter(query),
    from: query.has("from") ? readTime(query, "from") : undefined,
    to: query.has("to") ? readTime(query, "to") : undefined,
    outcomes: readOutcomes(query),
    // The gateway checks both.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    sort: sort as RecordQuery["sort"],
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    order: readText(query, "order") as RecordQuery["order"],
    limit: readNumber(query, "limit"),
    cursor: query.get("cursor") ?? undefined,
  };
}

/**
 * Reads the fields of `GET api/refusals`. The gateway checks what is not checked here.
 *
 * @throws GatewayError that names the wrong field
 */
export function readRefusalQuery(query: URLSearchParams): RefusalQuery {
  return {
    from: query.has("from") ? readTime(query, "from") : undefined,
    to: query.has("to") ? readTime(query, "to") : undefined,
    caller: readText(query, "caller"),
    model: readText(query, "model"),
    limit: readNumber(query, "limit"),
  };
}

function readFilter(query: URLSearchParams): RecordFilter {
  const tag = readText(query, "tag");
  return {
    caller: readText(query, "caller"),
    model: readText(query, "model"),
    channel: readText(query, "channel"),
    endUser: readText(query, "endUser"),
    tag: tag === undefined ? undefined : readTag(tag),
  };
}

/** Reads `refused,failed`. The gateway checks each of them. */
function readOutcomes(query: URLSearchParams): SeriesQuery["outcomes"] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return readText(query, "outcomes")?.split(",") as SeriesQuery["outcomes"];
}

/** Reads `team=red`. `team=` selects requests without the tag. */
function readTag(text: string): { readonly key: string; readonly value: string } {
  const at = text.indexOf("=");
  if (at < 1) throw invalid("tag must be a key and a value, such as team=red.", "tag");
  return { key: text.slice(0, at), value: text.slice(at + 1) };
}

function readTime(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (text === null || Number.isNaN(Date.parse(text))) {
    throw invalid(`${name} must be a time such as 2026-11-23T09:00:00Z.`, name);
  }
  return text;
}

function readNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,6}$/.test(text)) throw invalid(`${name} must be a whole number.`, name);
  return Number(text);
}

/** PostgreSQL stores no NUL, so no field has one. */
function readText(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (text.length > MAX_LENGTH || text.includes("\0")) {
    throw invalid(`${name} must have at most ${MAX_LENGTH} characters, without a NUL.`, name);
  }
  return text;
}

function invalid(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
