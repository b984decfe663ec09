import type { AsyncLedger, Ledger } from "../billing/ledger.js";

/** The same ledger, which answers later, as all do that are outside of the process. */
export function answerLater(ledger: Ledger): AsyncLedger {
  return {
    ...ledger,
    hold: async (hold) => await ledger.hold(hold),
    settle: async (record) => await ledger.settle(record),
    release: async (id) => await ledger.release(id),
    takeUndelivered: async (limit, leaseMs, onUnreadable) =>
      await ledger.takeUndelivered(limit, leaseMs, onUnreadable),
    markDelivered: async (records) => await ledger.markDelivered(records),
  };
}
