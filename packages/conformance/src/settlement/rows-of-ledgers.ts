import { setTimeout as pause } from "node:timers/promises";
import { createMemoryLedger, type GatewayOptions } from "@calotype/core";
import type { Ledger } from "@calotype/core/stores";
import { report } from "./making.js";
import { NOTHING, ONE, type Row, type RowGroup } from "./row.js";
import { makes } from "./script.js";
import { ALL } from "./ways.js";

/** Options with a ledger in memory some of whose methods are replaced. */
function ledgerThat(change: (ledger: Ledger) => Partial<Ledger>): () => Partial<GatewayOptions> {
  return () => {
    const ledger = createMemoryLedger();
    return { ledger: { ...ledger, ...change(ledger) } };
  };
}

/** Fails at the first call: before the work, or after the work was done. */
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
    "Without a hold nothing is sent. A response ends only when its charge is in the ledger. The gateway tries five times within six seconds. If the ledger accepts none of these, the client still gets its images, the log has the complete record, and the gateway tries again every ten seconds and when it closes. If its process dies first, the hold becomes an unresolved record at a later sweep.",
  rows: [
    {
      happened: "The hold fails",
      ...unheld,
      options: ledgerThat((ledger) => ({
        hold: failingOnce(async (hold) => await ledger.hold(hold), "before"),
      })),
    },
    {
      happened: "The hold is made, but the ledger's reply is lost: the hold is released",
      ...unheld,
      options: ledgerThat((ledger) => ({
        hold: failingOnce(async (hold) => await ledger.hold(hold), "after"),
      })),
    },
    {
      happened: "The charge fails at first",
      ...settled,
      options: ledgerThat((ledger) => ({
        settle: failingOnce(async (record) => await ledger.settle(record), "before"),
      })),
    },
    {
      happened: "The charge is made, but the ledger's reply is lost: charged once",
      ...settled,
      options: ledgerThat((ledger) => ({
        settle: failingOnce(async (record) => await ledger.settle(record), "after"),
      })),
    },
    {
      happened: "The ledger is slow: the response ends when the charge is stored",
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
