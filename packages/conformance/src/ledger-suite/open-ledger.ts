import type { Ledger } from "@calotype/core/stores";
import { afterEach, beforeEach } from "vitest";
import { type Clock, createClock } from "./clock.js";

/** A ledger under test. */
interface OpenedLedger {
  readonly ledger: Ledger;
  /**
   * Closes the ledger and opens another on the same store, as a process that starts anew. May be called
   * again, for what it last opened. Absent where nothing outlives the ledger.
   */
  readonly reopen?: (() => Promise<Ledger>) | undefined;
  /**
   * Opens one more ledger on the same store, as another process that runs at the same time. Absent where the
   * store is for one.
   */
  readonly join?: (() => Promise<Ledger>) | undefined;
  /** Ends whatever is open, and removes the store. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** Opens a fresh, empty ledger whose time is `now`, milliseconds since 1970. */
export type OpenLedger = (options: { readonly now: () => number }) => OpenedLedger | Promise<OpenedLedger>;

/** What a test uses: a ledger of its own, and its clock. */
export interface Bench {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly reopen: OpenedLedger["reopen"];
  readonly join: OpenedLedger["join"];
}

/** A fresh ledger for each test of the `describe` that calls it. */
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
