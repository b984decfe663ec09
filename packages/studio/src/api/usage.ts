import { GatewayError, isGatewayError } from "@calotype/core";
import { addDecimals, formatDecimal, readDecimal } from "@calotype/core/stores";
import { findCurrency } from "../currency.js";
import { respond, respondWithJson } from "../respond.js";
import type { FoundRequest, Session, UsageRecord, UsageReport } from "../wire.js";
import { EXPORT_FORMATS, openExport } from "./export-records.js";
import { type ApiRoute, explainFields, type StudioGateway } from "./route.js";
import { readPrevious, readRecordQuery, readRefusalQuery, readSeriesQuery } from "./usage-query.js";

export const USAGE_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "usage",
    role: "viewer",
    run: ({ gateway, currency }, { query, request: { signal } }) =>
      explainFields(async () => {
        const asked = readSeriesQuery(query);
        const previous = readPrevious(query);
        const series = await gateway.usage.series(asked, { signal });
        let body: UsageReport = { series };
        if (previous !== undefined) {
          const { buckets, total } = await gateway.usage.series(
            { ...asked, ...previous, by: undefined },
            { signal },
          );
          body = { series, previous: { buckets, total } };
        }
        if (typeof currency === "object") {
          const byModel = { ...asked, by: "model", bucket: undefined, limit: 1_000 } as const;
          const { lines } = await gateway.usage.series(byModel, { signal });
          body = { ...body, charges: sumByCurrency(lines, currency) };
        }
        return respondWithJson(body);
      }),
  },
  {
    method: "GET",
    path: "records",
    role: "viewer",
    run: ({ gateway }, { query, request: { signal } }) =>
      explainFields(async () =>
        respondWithJson(await gateway.usage.page(readRecordQuery(query), { signal })),
      ),
  },
  {
    method: "GET",
    path: "records/export",
    role: "viewer",
    run: (parts, { query, request: { signal } }) =>
      explainFields(async () => {
        const name = query.get("format");
        if (name !== "csv" && name !== "jsonl") {
          throw new GatewayError("invalid_request_error", "format must be csv or jsonl.", {
            param: "format",
          });
        }
        const format = EXPORT_FORMATS[name];
        return respond(200, await openExport(parts, readRecordQuery(query), format, signal), {
          "content-type": format.type,
          "content-disposition": `attachment; filename="usage.${name}"`,
        });
      }),
  },
  {
    method: "GET",
    path: "refusals",
    role: "viewer",
    run: ({ gateway }, { query }) =>
      explainFields(async () => respondWithJson(await gateway.refusals.list(readRefusalQuery(query)))),
  },
  {
    method: "GET",
    path: "requests/:id",
    role: "viewer",
    async run({ gateway }, { values: { id = "" }, query }) {
      const found = await findRequest(gateway, id, query.get("near"));
      if (found !== undefined) return respondWithJson(found);
      throw new GatewayError(
        "not_found",
        "There is no request with this id. The last 1,000 refused requests of each caller are kept.",
      );
    },
  },
];

/** With a ledger that does not find records by id, they are looked for around the time at which the request was sent. */
const AROUND_MS = 600_000;
/** The last time of JavaScript, in the year 275760. */
const MAX_TIME = 8.64e15;

/** Finds the record of a request, or why it was refused. `near` is a time at which it may have arrived. */
export async function findRequest(
  gateway: StudioGateway,
  id: string,
  near: string | null = null,
): Promise<FoundRequest | undefined> {
  const record = await findRecord(gateway, id, near);
  if (record !== undefined) return record;
  const refusal = await gateway.refusals.find(id);
  return refusal && { state: "refused", ...refusal };
}

async function findRecord(
  { usage }: StudioGateway,
  id: string,
  near: string | null,
): Promise<UsageRecord | undefined> {
  try {
    return await usage.find(id);
  } catch (error) {
    if (!(isGatewayError(error) && error.code === "no_totals")) throw error;
  }
  const at = near === null ? Date.now() : Date.parse(near);
  // The ends of the time around it must be times too.
  if (Number.isNaN(at) || Math.abs(at) > MAX_TIME - AROUND_MS) {
    throw new GatewayError("invalid_request_error", "near must be a time such as 2026-11-23T09:00:00Z.", {
      param: "near",
    });
  }
  const [from, to] = [at - AROUND_MS, at + AROUND_MS].map((time) => new Date(time).toISOString());
  for await (const record of usage.records({ from, to })) {
    if (record.id === id) return record;
  }
  return undefined;
}

/** Adds up the charges of models that have the same currency. */
function sumByCurrency(
  lines: UsageReport["series"]["lines"],
  currency: NonNullable<Session["currency"]>,
): NonNullable<UsageReport["charges"]> {
  const groups = Map.groupBy(lines, ({ key }) => findCurrency(currency, key) ?? "");
  return [...groups]
    .map(([name, models]) => ({
      currency: name,
      charge: formatDecimal(
        models.reduce((sum, { sums }) => addDecimals(sum, readDecimal(sums.charge)), readDecimal("0")),
      ),
    }))
    .toSorted((one, other) => Number(other.charge) - Number(one.charge));
}
