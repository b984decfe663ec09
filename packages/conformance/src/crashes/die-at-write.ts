import type { Ledger } from "@calotype/core/stores";
import type { Death } from "./server-plan.ts";

/** A ledger that kills the process at one of its writes. */
export interface MortalLedger {
  readonly ledger: Ledger;
  /** Starts to count writes. */
  arm(): void;
}

/** Wraps a ledger so that this process is killed at the planned write, if there is one. */
export function dieAtWrite(ledger: Ledger, death: Death | undefined): MortalLedger {
  let left = Infinity;
  const watch = async <T>(method: Death["method"], write: () => Promise<T>): Promise<T> => {
    if (method !== death?.method) return write();
    left--;
    const isLast = left === 0;
    if (isLast && death.moment === "before") die();
    const result = await write();
    if (isLast) die();
    return result;
  };
  return {
    arm() {
      left = death?.call ?? Infinity;
    },
    ledger: {
      ...ledger,
      hold: (hold) => watch("hold", async () => await ledger.hold(hold)),
      settle: (record) => watch("settle", async () => await ledger.settle(record)),
      release: (id) => watch("release", async () => await ledger.release(id)),
      markDelivered: (records) => watch("markDelivered", async () => await ledger.markDelivered(records)),
    },
  };
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
