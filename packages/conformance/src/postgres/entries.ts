import type { SettledRecord } from "@calotype/core/billing";
import type { HoldRecord } from "@calotype/core/stores";

/** Facts of the requests in these tests. Programs that Node runs without a build import this file too. */
const FACTS = {
  time: "2026-01-31T12:00:00.000Z",
  group: "default",
  model: "seedream",
  operation: "generate",
} as const;

/** A hold with a duration of one hour. */
export function holdOf(rest: Pick<HoldRecord, "id" | "caller" | "amount"> & Partial<HoldRecord>): HoldRecord {
  return { ...FACTS, ttlMs: 3_600_000, ...rest };
}

export function recordOf(rest: Pick<SettledRecord, "id" | "caller" | "charge">): SettledRecord {
  return {
    ...FACTS,
    state: "settled",
    channel: "ark-1",
    upstreamModel: "ep-1",
    status: 200,
    images: 1,
    durationMs: 1500,
    ...rest,
  };
}
