import type { BudgetLedger, HistoryLedger, UsageHistory } from "@calotype/core/stores";
import { afterEach, beforeEach } from "vitest";
import { type Clock, createClock } from "./clock.js";

/** A ledger that may keep totals. */
export type TestedLedger = BudgetLedger & Partial<HistoryLedger>;

/** A ledger under test. */
interface OpenedLedger {
  readonly ledger: TestedLedger;
  /**
   * Closes the ledger and opens another one on the same store, like a process that is restarted. A second call closes
   * the ledger that the first call opened. Absent if the ledger is not persistent.
   */
  readonly reopen?: (() => Promise<TestedLedger>) | undefined;
  /**
   * Opens one more ledger on the same store, like another process that runs at the same time. Absent if processes
   * cannot share the store.
   */
  readonly join?: (() => Promise<TestedLedger>) | undefined;
  /** Closes everything that is open, and removes the store. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Opens a new, empty ledger with the clock `now`, in milliseconds since 1970. */
export type OpenLedger = (options: { readonly now: () => number }) => OpenedLedger | Promise<OpenedLedger>;

/** A ledger for one test, and its clock. */
export interface Bench {
  readonly clock: Clock;
  readonly ledger: TestedLedger;
  readonly reopen: OpenedLedger["reopen"];
  readonly join: OpenedLedger["join"];
}

/** Opens a new ledger for each test of the `describe` that calls this. */
export function useLedger(open: OpenLedger): () => Bench {
  let bench: Bench | undefined;
  let close: OpenedLedger["close"];
  beforeEach(async () => {
    const clock = createClock();
    const opened = await open({ now: clock.now });
    close = opened.close;
    bench = { clock, ledger: opened.ledger, reopen: opened.reopen, join: opened.join };
  });
  afterEach(async () => {
    bench = undefined;
    await close?.();
  });
  return () => {
    if (bench === undefined) throw new Error("The ledger is open only while a test runs.");
    return bench;
  };
}

/** The history of a ledger that keeps totals. */
export function historyOf({ history }: TestedLedger): UsageHistory {
  if (history === undefined) throw new TypeError("The ledger keeps no totals.");
  return history;
}
