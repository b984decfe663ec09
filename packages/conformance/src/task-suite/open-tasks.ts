import type { TaskLedger } from "@calotype/core/stores";
import { afterEach, beforeEach } from "vitest";
import { type Clock, createClock } from "../ledger-suite/clock.js";

/** A ledger that can be closed like a process that ends: what it took and did not end is lost at once. */
export type ClosableLedger = TaskLedger & { close(): Promise<void> };

/** A ledger under test. The members mean the same as in `ledger-suite/open-ledger.ts`. */
interface OpenedTaskLedger {
  readonly ledger: TaskLedger;
  readonly reopen?: (() => Promise<TaskLedger>) | undefined;
  readonly join?: (() => Promise<ClosableLedger>) | undefined;
  readonly close?: (() => Promise<void>) | undefined;
}

/** Opens a new, empty ledger with the clock `now`, in milliseconds since 1970. */
export type OpenTaskLedger = (options: {
  readonly now: () => number;
}) => OpenedTaskLedger | Promise<OpenedTaskLedger>;

/** A ledger for one test, and its clock. */
interface TaskBench {
  readonly clock: Clock;
  readonly ledger: TaskLedger;
  readonly tasks: TaskLedger["tasks"];
  /** Closes the ledger and opens it again. */
  readonly reopen: () => Promise<TaskLedger>;
  /** Opens another ledger on the same store. */
  readonly join: () => Promise<ClosableLedger>;
}

/** Opens a new ledger for each test of the `describe` that calls this. */
export function useTaskLedger(open: OpenTaskLedger): () => TaskBench {
  let bench: TaskBench | undefined;
  let close: OpenedTaskLedger["close"];
  beforeEach(async () => {
    const clock = createClock();
    const { ledger, reopen = isMissing("reopen"), join = isMissing("join"), ...opened } = await open(clock);
    close = opened.close;
    bench = { clock, ledger, tasks: ledger.tasks, reopen, join };
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
