import { setTimeout as pause } from "node:timers/promises";
import { createMemoryLedger, type GatewayOptions, type Ledger } from "@calotype/core";
import { report } from "./making.js";
import { NOTHING, ONE, type Row, type RowGroup } from "./row.js";
import { makes } from "./script.js";
import { ALL } from "./ways.js";

/** A ledger of which one method does something before, or in place of, its work. */
function ledgerThat(change: (ledger: Ledger) => Partial<Ledger>): () => Partial<GatewayOptions> {
  return () => {
    const ledger = createMemoryLedger();
    return { ledger: { ...ledger, ...change(ledger) } };
  };
}

/** Does the work, or fails the first time; `after` it was done all the same. */
function failingOnce<Input, Output>(
  work: (input: Input) => Promise<Output>,
  when: "before" | "after",
): (input: Input) => Promise<Output> {
  let calls = 0;
  return async (input) => {
    calls++;
    if (calls > 1) return work(input);
    if (when === "after") await work(input);
    throw new Error("The ledger cannot be reached.");
  };
}

const unheld = {
  ways: ALL,
  provider: [],
  sees: { status: 503, code: "gateway_unavailable" },
  record: "none",
  charges: NOTHING,
} satisfies Partial<Row>;

const settled = {
  ways: ALL,
  provider: [makes({ images: 1, usage: report(1) })],
  sees: { status: 200, images: 1 },
  charges: ONE,
} satisfies Partial<Row>;

export const LEDGERS: RowGroup = {
  title: "The ledger fails",
  introduction:
    "Without a hold nothing is sent. An answer ends only when its charge is kept: the gateway tries five times within six seconds. A ledger that takes it at none of them costs the client nothing: it gets its images, the whole record stands in the log, and the gateway asks again every ten seconds and as it closes. Where its process dies before, the hold becomes an unresolved record at a later sweep.",
  rows: [
    {
      happened: "It does not take the hold",
      ...unheld,
      options: ledgerThat((ledger) => ({
        hold: failingOnce(async (hold) => await ledger.hold(hold), "before"),
      })),
    },
    {
      happened: "It takes the hold, and its answer is lost: the hold is released",
      ...unheld,
      options: ledgerThat((ledger) => ({
        hold: failingOnce(async (hold) => await ledger.hold(hold), "after"),
      })),
    },
    {
      happened: "It does not take the charge at once",
      ...settled,
      options: ledgerThat((ledger) => ({
        settle: failingOnce(async (record) => await ledger.settle(record), "before"),
      })),
    },
    {
      happened: "It takes the charge, and its answer is lost: charged once",
      ...settled,
      options: ledgerThat((ledger) => ({
        settle: failingOnce(async (record) => await ledger.settle(record), "after"),
      })),
    },
    {
      happened: "It is slow: the answer ends when the charge is kept",
      ...settled,
      options: ledgerThat((ledger) => ({
        settle: async (record) => {
          await pause(60);
          await ledger.settle(record);
        },
      })),
    },
  ],
};
