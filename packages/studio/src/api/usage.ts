import { GatewayError } from "@calotype/core";
import { respondWithJson } from "../respond.js";
import type { UsageRecord } from "../wire.js";
import type { ApiRoute, StudioGateway } from "./route.js";

export const USAGE_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "requests/:id",
    role: "viewer",
    async run({ gateway }, { values: { id = "" }, query }) {
      const record = await findRecord(gateway, id, query.get("near"));
      if (record !== undefined) return respondWithJson(record);
      throw new GatewayError(
        "not_found",
        "There is no record with this request id. Requests that reached no provider have none.",
      );
    },
  },
];

/** With a ledger that does not find records by id, they are looked for around the time at which the request was sent. */
const AROUND_MS = 600_000;

async function findRecord(
  { usage }: StudioGateway,
  id: string,
  near: string | null,
): Promise<UsageRecord | undefined> {
  try {
    return await usage.find(id);
  } catch (error) {
    // Ledgers that keep no totals say so with a TypeError.
    if (!(error instanceof TypeError)) throw error;
  }
  const at = near === null ? Date.now() : Date.parse(near);
  if (Number.isNaN(at)) {
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
