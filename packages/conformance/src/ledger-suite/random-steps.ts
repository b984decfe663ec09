import type { LostPolicy, SettledRecord } from "@calotype/core/billing";
import type { HoldRecord } from "@calotype/core/stores";
import * as fc from "fast-check";
import { START } from "./clock.js";
import { recordOf } from "./entries.js";

/** One call of a ledger, or a step of its clock. */
export type Step =
  | { readonly kind: "hold"; readonly hold: HoldRecord }
  | { readonly kind: "settle"; readonly record: SettledRecord }
  | { readonly kind: "release"; readonly id: string }
  | { readonly kind: "sweep"; readonly onLost: LostPolicy; readonly own: boolean }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "take"; readonly limit: number; readonly leaseMs: number }
  /** Marks the records that an earlier step took. */
  | { readonly kind: "mark"; readonly batch: number };

export const CALLERS = ["me", "other", "third"] as const;

const HOUR_MS = 3_600_000;

/** Few requests, so that several steps concern the same one. The facts of a request are the same in every step. */
const facts = fc.nat({ max: 8 }).map((at) => ({
  id: `req_${at}`,
  time: new Date(START + ((at * 5) % 9) * 7 * HOUR_MS).toISOString(),
  caller: CALLERS[at % CALLERS.length] ?? "me",
  group: "default",
  model: at % 2 === 0 ? "seedream" : "qwen",
  operation: at % 4 === 0 ? ("edit" as const) : ("generate" as const),
}));

// Some sums of these amounts are equal to a budget, and some differ from it only in the last decimal place.
const amount = fc.constantFrom("0", "0.1", "0.2", "0.3", "0.07", "1", "0.000000000000000001", null);
const budget = fc.constantFrom(undefined, "0", "0.3", "0.5", "1", "1.1", "0.999999999999999999", "2");
/** At the start of the clock it is midnight in Kamchatka, which is 12 hours ahead of UTC all year. */
const period = fc.constantFrom(
  undefined,
  { unit: "day" as const, timeZone: "UTC" },
  { unit: "day" as const, timeZone: "Asia/Kamchatka" },
  { unit: "week" as const, timeZone: "UTC" },
  { unit: "month" as const, timeZone: "Asia/Kamchatka" },
);
const milliseconds = fc.constantFrom(0, 1, 10, 50, 100, 1_000);

export const randomStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({ facts, amount, budget, period, ttlMs: milliseconds })
      .map(({ facts: known, ...rest }): Step => ({ kind: "hold", hold: { ...known, ...withBudget(rest) } })),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({
        facts,
        charge: amount,
        cost: amount,
        channel: fc.constantFrom("ark-1", "ark-2"),
        images: fc.nat(4),
        status: fc.constantFrom(200, 200, 400, 502),
        durationMs: fc.constantFrom(0, 1_500, 40_000),
      })
      .map(
        ({ facts: known, cost, ...rest }): Step => ({
          kind: "settle",
          record: recordOf({ ...known, ...rest, ...(cost !== null && { cost }) }),
        }),
      ),
  },
  { weight: 2, arbitrary: facts.map(({ id }): Step => ({ kind: "release", id })) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("sweep" as const),
      onLost: fc.constantFrom("release" as const, "charge" as const),
      own: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("advance" as const), ms: milliseconds }) },
  // To midnight in UTC, which is 12 hours after the start, and over it.
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      ms: fc.constantFrom(12 * HOUR_MS - 1, 12 * HOUR_MS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("take" as const), limit: fc.nat(4), leaseMs: milliseconds }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("mark" as const), batch: fc.nat(9) }) },
);

/** A period without a budget is no hold that the gateway makes. */
function withBudget<H extends Pick<HoldRecord, "budget" | "period">>(hold: H): H {
  return hold.budget === undefined ? { ...hold, period: undefined } : hold;
}
