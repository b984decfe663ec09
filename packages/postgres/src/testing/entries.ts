import type { Hold, SettledRecord } from "@calotype/core/billing";

/** When the clocks of the tests begin. */
export const START = Date.parse("2026-01-31T12:00:00.000Z");

/** The hold of a request, of which a test says what matters to it. */
export function holdOf(rest: Partial<Hold> & Pick<Hold, "id">): Hold {
  return {
    time: new Date(START).toISOString(),
    caller: "me",
    group: "default",
    model: "seedream",
    operation: "generate",
    amount: "0.5",
    expiresAt: Number.MAX_SAFE_INTEGER,
    ...rest,
  };
}

/** The record of a request, of which a test says what matters to it. */
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
