import type { SettledRecord } from "@calotype/core/billing";
import type {
  BudgetLedger,
  CallerLedger,
  HistoryLedger,
  HoldRecord,
  OutboxLedger,
  RefusalLedger,
  TaskLedger,
} from "@calotype/core/stores";

/** A ledger of SQLite or PostgreSQL. */
export type FullLedger = TaskLedger &
  CallerLedger &
  BudgetLedger &
  OutboxLedger &
  HistoryLedger &
  RefusalLedger & { close(): Promise<void> };

/** The first request of {@link fillLedger}. The hours after it have records. */
export const FIRST = Date.parse("2026-10-30T22:15:00.000Z");
const MINUTE_MS = 60_000;

/** Callers with names that only a database that compares bytes sorts in one way. */
export const CALLERS = ["web-shop", "app,1", "Zebra", "图像", "user:\u{1F600}", "a'b\"c\\d"];

/**
 * Writes something of everything that a ledger keeps: this number of requests of {@link CALLERS}, with costs, errors, periods, alerts
 * and requests without a known outcome; and stored callers, refused requests and a disabled endpoint. Money has many places.
 */
export async function fillLedger(ledger: FullLedger, requests: number): Promise<void> {
  const now = Date.now();
  for (const [at, id] of ["web-shop", "Zebra", "revoked"].entries()) {
    await ledger.callers.create(id, () => ({
      caller: {
        settings: JSON.stringify({ version: 1, group: "default", budget: "1000" }),
        keys: [{ hash: String(at).repeat(64), hint: `cal-…${at}`, createdAt: now }],
      },
      audit: { by: "ann", action: "create", details: "{}" },
    }));
  }
  await ledger.callers.change("revoked", (caller) => ({
    caller: { ...caller, keys: [], revokedAt: now },
    audit: { by: "ann", action: "revoke", details: "{}" },
  }));
  await ledger.refusals.add([
    {
      id: "req_refused",
      time: new Date(FIRST).toISOString(),
      method: "POST",
      path: "/v1/images/edits",
      status: 401,
      code: "invalid_api_key",
    },
  ]);
  await ledger.outbox.setDisabled("web-shop", "old", true);
  const batch = Array.from({ length: requests }, (_, at) => at);
  for (let from = 0; from < requests; from += 200) {
    await Promise.all(
      batch.slice(from, from + 200).map(async (at) => await makeRequest(ledger, toHold(at, requests))),
    );
  }
  for (const alert of await ledger.outbox.lease("alert", { limit: 1, leaseMs: 1_000 })) {
    await ledger.outbox.addMessages(alert, [{ id: `msg_${"0".repeat(32)}`, endpoint: "ops" }]);
  }
  // Those without an end.
  await ledger.sweep({ onLost: "charge", own: true });
}

/** The requests whose outcome is never known. */
const isLost = (at: number): boolean => at % 50 === 7;

async function makeRequest(ledger: FullLedger, { at, hold }: NumberedHold): Promise<void> {
  const { ok } = await ledger.hold(hold);
  if (!ok) throw new Error(`The hold ${hold.id} was refused.`);
  if (isLost(at)) return;
  if (at % 29 === 3) await ledger.release(hold.id);
  else await ledger.settle(toRecord(at, hold));
}

interface NumberedHold {
  readonly at: number;
  readonly hold: HoldRecord;
}

/** The hold of one of this number of requests. The charges of the first caller reach half of its budget. */
function toHold(at: number, requests: number): NumberedHold {
  const budget = String(requests * 0.08);
  const period = { unit: "month", timeZone: "Asia/Tokyo" } as const;
  const hold: HoldRecord = {
    id: `req_${at.toString().padStart(6, "0")}`,
    time: new Date(FIRST + at * MINUTE_MS + 7 * at).toISOString(),
    caller: CALLERS[at % CALLERS.length] ?? "",
    group: "default",
    model: at % 3 === 0 ? "image-max" : "seedream",
    operation: "generate",
    amount: "0.5",
    ...(at % CALLERS.length === 0 && { budget, period }),
    ttlMs: 600_000,
  };
  return { at, hold };
}

/** The record of a request. */
function toRecord(at: number, { id, time, caller, group, model, operation }: HoldRecord): SettledRecord {
  const hasFailed = at % 11 === 5;
  return {
    state: "settled",
    id,
    time,
    caller,
    group,
    model,
    operation,
    channel: at % 2 === 0 ? "ark-1" : "bailian",
    upstreamModel: "ep-1",
    status: hasFailed ? 502 : 200,
    images: hasFailed ? 0 : 1,
    charge: hasFailed ? "0" : `0.${String(at % 7)}00000000000000${(at % 9) + 1}`,
    ...(at % 5 === 0 && { cost: "0.0123456789" }),
    usage: { generated_images: 1, output_tokens: 4096 + at, total_tokens: 4096 + at },
    durationMs: 900 + 37 * (at % 400),
    tags: { team: `team-${at % 4}`, note: 'a "quoted" \\ value, 图' },
  };
}
