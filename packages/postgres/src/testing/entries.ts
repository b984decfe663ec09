import type { SettledRecord } from "@calotype/core/billing";
import type { HoldRecord } from "@calotype/core/stores";

/** The start of the test clocks. */
export const START = Date.parse("2026-01-31T12:00:00.000Z");

const YEAR_MS = 365 * 86_400_000;

/** A hold with default fields. */
export function holdOf(rest: Partial<HoldRecord> & Pick<HoldRecord, "id">): HoldRecord {
  return {
    time: new Date(START).toISOString(),
    caller: "me",
    group: "default",
    model: "seedream",
    operation: "generate",
    amount: "0.5",
    ttlMs: YEAR_MS,
    ...rest,
  };
}

/** A settled record with default fields. */
export function recordOf(rest: Partial<SettledRecord> & Pick<SettledRecord, "id">): SettledRecord {
  return {
    state: "settled",
    time: new Date(START).toISOString(),
    caller: "me",
    group: "default",
    model: "seedream",
    operation: "generate",
    channel: "ark-1",
    upstreamModel: "ep-1",
    status: 200,
    images: 1,
    charge: "0.3",
    durationMs: 1500,
    ...rest,
  };
}
