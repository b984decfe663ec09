import type { BudgetAlert, TotalsKey, UsageRecord } from "@calotype/core/billing";
import { type Clock, timeAfterStart } from "./clock.js";
import { historyOf, type TestedLedger } from "./open-ledger.js";
import { CALLERS, type Step } from "./random-steps.js";
import { peekUndelivered, readRecords } from "./read-ledger.js";
import type { ReferenceLedger } from "./reference-ledger.js";

/** A ledger, the reference that it is compared with, and the records that were taken so far. */
export interface Trial {
  readonly ledger: TestedLedger;
  readonly reference: ReferenceLedger;
  readonly clock: Clock;
  readonly taken: (readonly UsageRecord[])[];
}

/** The results of both, to be compared. */
export interface Results {
  readonly ledger: unknown;
  readonly reference: unknown;
}

const KEYS: readonly TotalsKey[] = ["caller", "model", "channel", "day", "period"];

/** Runs a step on both. */
export async function takeStep({ ledger, reference, clock, taken }: Trial, step: Step): Promise<Results> {
  switch (step.kind) {
    case "hold":
      return { ledger: await ledger.hold(step.hold), reference: reference.hold(step.hold, clock.now()) };
    case "settle":
      return { ledger: await ledger.settle(step.record), reference: reference.settle(step.record) };
    case "release":
      return { ledger: await ledger.release(step.id), reference: reference.release(step.id) };
    case "sweep": {
      const { onLost, own } = step;
      return {
        ledger: await ledger.sweep({ onLost, own }),
        reference: reference.sweep(clock.now(), onLost, own),
      };
    }
    case "advance":
      return { ledger: clock.advance(step.ms), reference: undefined };
    case "take": {
      const waiting = reference.undelivered(clock.now());
      const records = await ledger.takeUndelivered(step.limit, step.leaseMs);
      reference.lease(records, clock.now() + step.leaseMs);
      taken.push(records);
      // Other tests check the order. This one checks that the number is right, and that the records were waiting.
      const versions = new Set(records.map(versionOf));
      return {
        ledger: { count: records.length, records: records.toSorted(compareIds) },
        reference: {
          count: Math.min(step.limit, waiting.length),
          records: waiting.filter((record) => versions.has(versionOf(record))).toSorted(compareIds),
        },
      };
    }
    case "mark": {
      const records = taken[step.batch % taken.length] ?? [];
      return { ledger: await ledger.markDelivered(records), reference: reference.markDelivered(records) };
    }
  }
}

/** Reads everything from both. */
export async function observe({ ledger, reference, clock }: Trial): Promise<Results> {
  return {
    ledger: {
      balances: await Promise.all(CALLERS.map((caller) => ledger.balance(caller))),
      records: await readRecords(ledger),
      totals: await Promise.all(KEYS.map((key) => ledger.totals(key))),
      undelivered: (await peekUndelivered(ledger)).toSorted(compareIds),
      periods: (await ledger.budgets.list({ limit: 1_000 })).map(({ caller, key, settled, held }) => ({
        caller,
        key,
        settled,
        held,
      })),
      alerts: (await ledger.budgets.takeAlerts(1_000, 0)).map(toAlertLine).toSorted(),
      usage: await readUsage(ledger),
    },
    reference: {
      balances: CALLERS.map((caller) => reference.balance(caller)),
      records: reference.records(),
      totals: KEYS.map((key) => reference.totals(key)),
      undelivered: reference.undelivered(clock.now()).toSorted(compareIds),
      periods: reference.periods(),
      alerts: reference.alerts.toSorted(),
      usage: ledger.history === undefined ? [] : reference.usage(),
    },
  };
}

/** The totals of each channel, of a ledger that keeps totals. */
async function readUsage(ledger: TestedLedger): Promise<object[]> {
  if (ledger.history === undefined) return [];
  const { lines } = await historyOf(ledger).series({
    from: timeAfterStart(-1),
    to: timeAfterStart(WEEK_MS),
    by: "channel",
  });
  // The other two are estimates. Other tests check them.
  return lines
    .map(({ key, sums }) => ({ key, ...sums, medianMs: undefined, p95Ms: undefined }))
    .toSorted(compareKeys);
}

const WEEK_MS = 604_800_000;
const compareKeys = (one: { readonly key: string }, other: { readonly key: string }): number =>
  one.key < other.key ? -1 : 1;

const toAlertLine = ({ caller, period, threshold, budget, settled }: BudgetAlert): string =>
  [caller, period?.key ?? "total", threshold, budget, settled].join(" | ");
const versionOf = ({ id, state }: UsageRecord): string => `${id} ${state}`;
const compareIds = (one: UsageRecord, other: UsageRecord): number => (one.id < other.id ? -1 : 1);
