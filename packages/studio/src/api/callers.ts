import { type Caller, GatewayError } from "@calotype/core";
import type { CallerPatch } from "@calotype/core/operator";
import { readBody } from "../read-body.js";
import { respondWithJson } from "../respond.js";
import type { AlertList, CallerHistory, KeyUse, KeyUses, NewKey } from "../wire.js";
import { findRow, forgetCallers, listCallers, readCallerQuery } from "./caller-list.js";
import { toRow } from "./caller-rows.js";
import { type ApiCall, type ApiRoute, explainMissing, type StudioGateway } from "./route.js";

/** Who makes the changes, in the audit lines. */
const BY = "studio";

export const CALLER_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "callers",
    role: "viewer",
    run: async (parts, { query }) => respondWithJson(await listCallers(parts, readCallerQuery(query))),
  },
  {
    method: "GET",
    path: "alerts",
    role: "viewer",
    async run({ gateway }, { query }) {
      const caller = query.get("caller") ?? undefined;
      return respondWithJson({ alerts: await listAlerts(gateway, caller) } satisfies AlertList);
    },
  },
  {
    method: "GET",
    path: "callers/:id",
    role: "viewer",
    async run(parts, { values: { id = "" } }) {
      const found = await findRow(parts, id);
      if (found === undefined) throw new GatewayError("caller_not_found", "There is no such caller.");
      return respondWithJson(found);
    },
  },
  {
    method: "GET",
    path: "callers/:id/keys",
    role: "viewer",
    run: async ({ gateway }, { values: { id = "" }, request: { signal } }) =>
      respondWithJson(await findKeyUses(gateway, id, signal)),
  },
  {
    method: "POST",
    path: "callers",
    role: "admin",
    async run(parts, { request }) {
      // The gateway checks each field.
      const caller = await readBody<Caller>(request);
      const created = await explainMissing(() => parts.gateway.callers.create(caller, { by: BY }));
      forgetCallers(parts.gateway);
      const body: NewKey = { caller: await toRow(parts, created.caller), key: created.key };
      return respondWithJson(body, 201);
    },
  },
  {
    method: "PATCH",
    path: "callers/:id",
    role: "admin",
    async run(parts, { request, values: { id = "" } }) {
      // The gateway checks each field.
      const patch = await readBody<CallerPatch>(request);
      const changed = await explainMissing(() => parts.gateway.callers.change(id, patch, { by: BY }));
      forgetCallers(parts.gateway);
      return respondWithJson(await toRow(parts, changed));
    },
  },
  {
    method: "POST",
    path: "callers/:id/rotate",
    role: "admin",
    async run(parts, { request, values: { id = "" } }) {
      const { overlapSeconds } = await readBody(request);
      if (overlapSeconds !== undefined && typeof overlapSeconds !== "number") {
        throw new GatewayError("invalid_request_error", "overlapSeconds must be a number.", {
          param: "overlapSeconds",
        });
      }
      const rotated = await explainMissing(() =>
        parts.gateway.callers.rotate(id, { overlapSeconds, by: BY }),
      );
      forgetCallers(parts.gateway);
      const body: NewKey = { caller: await toRow(parts, rotated.caller), key: rotated.key };
      return respondWithJson(body);
    },
  },
  {
    method: "POST",
    path: "callers/:id/revoke",
    role: "admin",
    async run(parts, { values: { id = "" } }) {
      const revoked = await explainMissing(() => parts.gateway.callers.revoke(id, { by: BY }));
      forgetCallers(parts.gateway);
      return respondWithJson(await toRow(parts, revoked));
    },
  },
  {
    method: "GET",
    path: "callers/:id/audit",
    role: "viewer",
    async run({ gateway }, { values: { id = "" } }) {
      const lines = await explainMissing(() => gateway.callers.audit({ caller: id, limit: 20 }));
      const body: CallerHistory = { lines };
      return respondWithJson(body);
    },
  },
];

/** How many of the newest records of a caller are searched for its keys. */
const MAX_READ = 500;

async function findKeyUses(
  { usage }: StudioGateway,
  caller: string,
  signal: ApiCall["request"]["signal"],
): Promise<KeyUses> {
  const { records, next } = await usage.page({ caller, limit: MAX_READ }, { signal });
  const uses = new Map<string, KeyUse>();
  for (const record of records) {
    const hint = record.state === "settled" ? record.keyHint : undefined;
    if (hint !== undefined && !uses.has(hint))
      uses.set(hint, { hint, time: record.time, requestId: record.id });
  }
  return { uses: [...uses.values()], records: records.length, isAll: next === undefined };
}

/** How many of the newest messages are searched for those about alerts. */
const MAX_MESSAGES = 1_000;

/** A ledger that keeps no alerts, which is a TypeError there, has none to show. */
async function listAlerts(
  { alerts, webhooks }: Pick<StudioGateway, "alerts" | "webhooks">,
  caller: string | undefined,
): Promise<AlertList["alerts"]> {
  try {
    const listed = (await alerts?.list({ caller })) ?? [];
    if (listed.length === 0) return [];
    const messages = await webhooks.list({ caller }, MAX_MESSAGES);
    const byAlert = Map.groupBy(messages, ({ alert }) => alert);
    return listed.map((alert) => ({
      ...alert,
      endpoints: byAlert.get(alert.id)?.map(({ endpoint }) => endpoint) ?? [],
    }));
  } catch (error) {
    if (error instanceof TypeError) return [];
    throw error;
  }
}
