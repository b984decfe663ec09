import type { TotalsKey, UsageTotal } from "@calotype/core/billing";
import {
  findAbility,
  type LedgerAbility,
  type MinimalLedger,
  USAGE_HISTORY,
  USAGE_REPORTS,
  type UsageHistory,
} from "@calotype/core/stores";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Clock, createClock } from "./clock.js";

/** A ledger that can be closed like a process that ends: what it took and did not end is lost at once. */
export type Closable<Tested> = Tested & { close(): Promise<void> };

/** A ledger under test. */
interface OpenedLedger<Tested extends MinimalLedger> {
  readonly ledger: Tested;
  /**
   * Closes the ledger and opens another one on the same store, like a process that is restarted. A second call closes
   * the ledger that the first call opened. Absent if the ledger is not persistent.
   */
  readonly reopen?: (() => Promise<Tested>) | undefined;
  /**
   * Opens one more ledger on the same store, like another process that runs at the same time. Absent if processes
   * cannot share the store.
   */
  readonly join?: (() => Promise<Closable<Tested>>) | undefined;
  /** Closes everything that is open, and removes the store. */
  readonly close?: (() => Promise<void>) | undefined;
}

/** The store of a ledger. */
export interface LedgerStore {
  /** True if its data survives its process. It then needs `reopen`. Default false. */
  readonly isDurable?: boolean | undefined;
  /** True if processes can share it. It then needs `join`. Default false. */
  readonly isShared?: boolean | undefined;
}

/** Opens a new, empty ledger with the clock `now`, in milliseconds since 1970. A suite says what it needs besides the money. */
export type OpenLedger<Tested extends MinimalLedger = MinimalLedger> = (options: {
  readonly now: () => number;
}) => OpenedLedger<Tested> | Promise<OpenedLedger<Tested>>;

/** A ledger for one test, and its clock. A member that the ledger lacks throws. */
export interface Bench<Tested> {
  readonly clock: Clock;
  readonly ledger: Tested;
  readonly reopen: () => Promise<Tested>;
  readonly join: () => Promise<Closable<Tested>>;
}

/** Opens a new ledger for each test of the `describe` that calls this. */
export function useLedger<Tested extends MinimalLedger>(open: OpenLedger<Tested>): () => Bench<Tested> {
  let bench: Bench<Tested> | undefined;
  let close: OpenedLedger<Tested>["close"];
  beforeEach(async () => {
    const clock = createClock();
    const { ledger, reopen = isMissing("reopen"), join = isMissing("join"), ...opened } = await open(clock);
    close = opened.close;
    bench = { clock, ledger, reopen, join };
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

function isMissing(member: string): () => never {
  return () => {
    throw new TypeError(`This ledger needs ${member}.`);
  };
}

/** Returns an ability of a ledger, which it must have. */
export function abilityOf<Store>(ledger: MinimalLedger, token: LedgerAbility<Store>): Store {
  const found = findAbility(ledger, token);
  if (found === undefined)
    throw new TypeError(`The ledger has no ${token.member ?? token.methods.join(", ")}.`);
  return found;
}

/** An ability is found by the token that its feature exports. */
export function itIsFound<Store>(open: OpenLedger, token: LedgerAbility<Store>): void {
  it("is found by its token", async () => {
    const { ledger, close } = await open(createClock());
    expect(findAbility(ledger, token)).toBe(
      token.member === undefined ? ledger : Reflect.get(ledger, token.member),
    );
    await close?.();
  });
}

/** What a process does with the ledgers that it opens on one store. */
export function createOpened<Tested extends Closable<MinimalLedger>>(
  open: () => Tested,
  remove: () => void | Promise<void>,
) {
  let ledger = open();
  const others: Tested[] = [];
  return {
    ledger,
    join: async (): Promise<Tested> => {
      const other = open();
      others.push(other);
      return other;
    },
    reopen: async (): Promise<Tested> => {
      await ledger.close();
      ledger = open();
      return ledger;
    },
    close: async (): Promise<void> => {
      for (const opened of [ledger, ...others]) await opened.close();
      await remove();
    },
  };
}

/** Checks the totals, if the ledger has reports. */
export async function expectTotals(
  ledger: MinimalLedger,
  by: TotalsKey,
  lines: readonly Partial<UsageTotal>[],
): Promise<void> {
  const reports = findAbility(ledger, USAGE_REPORTS);
  if (reports !== undefined) expect(await reports.totals(by)).toMatchObject(lines);
}

/** The totals that a ledger keeps. */
export const historyOf = (ledger: MinimalLedger): UsageHistory => abilityOf(ledger, USAGE_HISTORY);
