import type { SettledRecord } from "@calotype/core/billing";
import { createMemoryLedger } from "@calotype/core/billing";
import type { Ledger } from "@calotype/core/stores";

/** The id of the newest request of {@link fillLedger}: its first attempt failed. */
export const SHOWN_ID = "req-shown";
const HOUR_MS = 3_600_000;

/** A ledger with the requests of two weeks: of three callers, with failures, end users and tags. */
export async function fillLedger(now: number): Promise<Ledger> {
  const ledger = createMemoryLedger();
  for (let index = 0; index < 120; index++) {
    const record = toRecord(index, now - index * 3 * HOUR_MS);
    const { id, time, caller, group, model, operation, held = "0" } = record;
    await ledger.hold({ id, time, caller, group, model, operation, amount: held, ttlMs: HOUR_MS });
    await ledger.settle(record);
  }
  return ledger;
}

function toRecord(index: number, arrivedAt: number): SettledRecord {
  const hasFailed = index % 9 === 4;
  const caller = ["web-shop", "design-team", "a-caller-with-a-rather-long-name-2026"][index % 3] ?? "";
  const charge = hasFailed ? "0" : String((1 + (index % 5)) * 3).padStart(2, "0");
  const first = { channel: "ark", key: 0, status: 429, code: "RateLimited", beganAt: arrivedAt + 5 };
  const last = { channel: "ark-2", key: 1, status: hasFailed ? 502 : 200, beganAt: arrivedAt + 900 };
  return {
    state: "settled",
    id: index === 0 ? SHOWN_ID : `0b5b9f3e-6f0e-4a52-9c1e-${String(index).padStart(12, "0")}`,
    time: new Date(arrivedAt).toISOString(),
    caller,
    group: "default",
    model: "seedream-4-5-251128",
    upstreamModel: "doubao-seedream-4-5-251128",
    channel: "ark-2",
    attempts: [
      { ...first, durationMs: 120, cooldownUntil: arrivedAt + 60_000 },
      { ...last, durationMs: 4_000, ...(hasFailed && { code: "InternalError" }) },
    ],
    operation: "generate",
    status: hasFailed ? 502 : 200,
    ...(hasFailed && { errorCode: "upstream_error" }),
    images: hasFailed ? 0 : 1 + (index % 5),
    held: "0.15",
    charge: hasFailed ? "0" : `0.${charge}`,
    ...(!hasFailed && {
      derivation: {
        pricing_mode: "per-request",
        count: 1 + (index % 5),
        count_source: "generated_images",
        model_price: "0.03",
        group_ratio: "1",
        exact: `0.${charge}`,
      },
    }),
    durationMs: 5_000 + (index % 7) * 900,
    endUser: `user-${index % 4}`,
    tags: { team: "design" },
  };
}

/** Ids of requests of {@link fillUnusualLedger}. */
export const LOST_ID = "req-lost";
export const TASK_ID = "req-task";

/** A ledger with a request whose outcome is not known, and a task whose image took several calls and a stream's time. */
export async function fillUnusualLedger(now: number): Promise<Ledger> {
  const ledger = createMemoryLedger();
  const time = new Date(now - HOUR_MS).toISOString();
  const facts = {
    caller: "web-shop",
    group: "default",
    model: "seedream-4-5-251128",
    operation: "generate",
  } as const;
  await ledger.hold({ ...facts, id: LOST_ID, time, amount: "0.64", ttlMs: HOUR_MS });
  await ledger.sweep({ onLost: "charge", own: true });
  const task = toRecord(1, now - HOUR_MS);
  const { endUser: _endUser, tags: _tags, ...record } = task;
  const beganAt = now - HOUR_MS + 12_000;
  await ledger.settle({
    ...record,
    id: TASK_ID,
    task: "task-1",
    attempts: [
      { call: 0, channel: "ark", key: 0, status: 200, beganAt, durationMs: 3_000 },
      { call: 1, channel: "ark", key: 0, status: 200, beganAt: beganAt + 3_000, durationMs: 2_000 },
    ],
    durationMs: 21_000,
  });
  return ledger;
}

/** A ledger whose strings come from people who want to break the page. */
export async function fillHostileLedger(now: number, strings: readonly string[]): Promise<Ledger> {
  const ledger = createMemoryLedger();
  for (const [index, hostile] of strings.entries()) {
    await ledger.settle({
      ...toRecord(index, now - index * HOUR_MS),
      id: `req-${index} ${hostile}`,
      caller: hostile,
      model: hostile,
      upstreamModel: hostile,
      channel: hostile,
      attempts: [
        {
          channel: hostile,
          key: 0,
          status: 400,
          code: hostile,
          beganAt: now,
          durationMs: 10,
          cooldownUntil: now,
        },
      ],
      status: 400,
      errorCode: hostile,
      endUser: hostile,
      tags: { team: hostile, [hostile]: "x" },
    });
  }
  return ledger;
}
