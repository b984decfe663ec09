import { type Caller, type CallerInfo, type CallerPatch, GatewayError } from "@calotype/core";
import { readBody } from "../read-body.js";
import { respondWithJson } from "../respond.js";
import type { CallerHistory, CallerRow, CallerRows, NewKey } from "../wire.js";
import type { ApiParts, ApiRoute, StudioGateway } from "./route.js";

/** Who makes the changes, in the audit lines. */
const BY = "studio";
const PAGE = 100;

export const CALLER_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "callers",
    role: "viewer",
    run: async (parts, { query }) =>
      respondWithJson(await listCallers(parts, query.get("after") ?? undefined)),
  },
  {
    method: "POST",
    path: "callers",
    role: "admin",
    async run(parts, { request }) {
      // The gateway checks each field.
      const caller = await readBody<Caller>(request);
      const created = await keepsCallers(() => parts.gateway.callers.create(caller, { by: BY }));
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
      const changed = await keepsCallers(() => parts.gateway.callers.change(id, patch, { by: BY }));
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
      const rotated = await keepsCallers(() => parts.gateway.callers.rotate(id, { overlapSeconds, by: BY }));
      const body: NewKey = { caller: await toRow(parts, rotated.caller), key: rotated.key };
      return respondWithJson(body);
    },
  },
  {
    method: "POST",
    path: "callers/:id/revoke",
    role: "admin",
    async run(parts, { values: { id = "" } }) {
      const revoked = await keepsCallers(() => parts.gateway.callers.revoke(id, { by: BY }));
      return respondWithJson(await toRow(parts, revoked));
    },
  },
  {
    method: "GET",
    path: "callers/:id/audit",
    role: "viewer",
    async run({ gateway }, { values: { id = "" } }) {
      const body: CallerHistory = { lines: await gateway.callers.audit({ caller: id, limit: 20 }) };
      return respondWithJson(body);
    },
  },
];

/** Lists the callers of the options on the first page, and those of the ledger. */
async function listCallers(parts: ApiParts, after: string | undefined): Promise<CallerRows> {
  const { gateway } = parts;
  const fixed = after === undefined ? await gateway.callers.fixed() : [];
  const stored = await listStored(gateway, after);
  const callers = await Promise.all(
    [...fixed, ...(stored?.callers ?? [])].map((caller) => toRow(parts, caller)),
  );
  return {
    callers,
    canCreate: stored !== undefined,
    ...(stored?.next !== undefined && { next: stored.next }),
  };
}

/** Lists a page of the callers of the ledger. `undefined` if the ledger keeps none, which it says with a TypeError. */
export async function listStored(
  gateway: StudioGateway,
  after: string | undefined,
): Promise<Awaited<ReturnType<StudioGateway["callers"]["list"]>> | undefined> {
  try {
    return await gateway.callers.list({ limit: PAGE, after });
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Adds the budget. A budget that cannot be read must not hide the other callers. */
async function toRow({ gateway, logger }: ApiParts, caller: Caller | CallerInfo): Promise<CallerRow> {
  const { expiresAt, ...others } = caller;
  const row: CallerRow = {
    state: "fixed",
    ...others,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
  try {
    return { ...row, spent: await gateway.budgets.read(caller) };
  } catch (error) {
    // A TypeError is about the budget and the ledger. Any other error may name hosts and users of a database.
    if (error instanceof TypeError) return { ...row, budgetProblem: error.message };
    logger.error({ err: error, caller: caller.id }, "A budget could not be read.");
    return { ...row, budgetProblem: "The budget cannot be read. The log of the server says why." };
  }
}

/** A ledger that keeps no callers says so with a TypeError. */
async function keepsCallers<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new GatewayError("invalid_request_error", cause.message, { cause });
  }
}
