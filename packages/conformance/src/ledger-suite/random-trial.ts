import type { BudgetAlert, TotalsKey, UsageRecord } from "@calotype/core/billing";
import {
  BUDGET_STORE,
  type BudgetStore,
  findAbility,
  type MinimalLedger,
  OUTBOX,
  type Outbox,
  USAGE_HISTORY,
  USAGE_REPORTS,
  type UsageHistory,
} from "@calotype/core/stores";
import { type Clock, timeAfterStart } from "./clock.js";
import { abilityOf } from "./open-ledger.js";
import { CALLERS, type Step } from "./random-steps.js";
import { peekUndelivered, readRecords } from "./read-ledger.js";
import type { ReferenceLedger } from "./reference-ledger.js";

/** A ledger, the reference that it is compared with, and the records that were taken so far. */
export interface Trial {
  readonly ledger: MinimalLedger;
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
    case "hold": {
      // A ledger without balances of periods knows no periods.
      const { period, ...rest } = step.hold;
      const hold = findAbility(ledger, BUDGET_STORE) === undefined ? rest : { ...rest, period };
      return { ledger: await ledger.hold(hold), reference: reference.hold(hold, clock.now()) };
    }
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

/** Reads from both everything that the ledger can read. */
export async function observe({ ledger, reference, clock }: Trial): Promise<Results> {
  const reports = findAbility(ledger, USAGE_REPORTS);
  const budgets = findAbility(ledger, BUDGET_STORE);
  const history = findAbility(ledger, USAGE_HISTORY);
  return {
    ledger: {
      balances: await Promise.all(CALLERS.map((caller) => ledger.balance(caller))),
      records: reports && (await readRecords(ledger)),
      totals: reports && (await Promise.all(KEYS.map((key) => reports.totals(key)))),
      undelivered: (await peekUndelivered(ledger)).toSorted(compareIds),
      ...(budgets && (await readBudgets(budgets, abilityOf(ledger, OUTBOX)))),
      usage: history && (await readUsage(history)),
    },
    reference: {
      balances: CALLERS.map((caller) => reference.balance(caller)),
      records: reports && reference.records(),
      totals: reports && KEYS.map((key) => reference.totals(key)),
      undelivered: reference.undelivered(clock.now()).toSorted(compareIds),
      ...(budgets && { periods: reference.periods(), alerts: reference.alerts.toSorted() }),
      usage: history && reference.usage(),
    },
  };
}

async function readBudgets(budgets: BudgetStore, outbox: Outbox): Promise<object> {
  const list = await budgets.list({ limit: 1_000 });
  return {
    periods: list.map(({ caller, key, settled, held }) => ({ caller, key, settled, held })),
    alerts: (await outbox.lease("alert", { limit: 1_000, leaseMs: 0 })).map(toAlertLine).toSorted(),
  };
}

/** The totals of each channel. */
async function readUsage(history: UsageHistory): Promise<object[]> {
  const { lines } = await history.series({
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
