import type { Ledger, TaskLedger, TaskStore } from "@calotype/core/stores";
import type { Death } from "./server-plan.ts";

/** A ledger that kills the process at one of its writes. */
export interface MortalLedger {
  readonly ledger: TaskLedger;
  /** Starts to count writes. */
  arm(): void;
}

/** Runs a write, and kills the process before or after it if the plan says so. */
type WatchWrite = <T>(method: Death["method"], write: () => Promise<T>) => Promise<T>;

/** Wraps a ledger so that this process is killed at the planned write, if there is one. */
export function dieAtWrite(ledger: TaskLedger, death: Death | undefined): MortalLedger {
  // A process sweeps when it starts.
  let left = death?.method === "sweep" ? death.call : Infinity;
  const watch: WatchWrite = async (method, write) => {
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
    ledger: { ...ledger, ...watchLedger(ledger, watch), tasks: watchTasks(ledger.tasks, watch) },
  };
}

function watchLedger(
  ledger: Ledger,
  watch: WatchWrite,
): Pick<Ledger, "hold" | "settle" | "release" | "markDelivered"> {
  return {
    hold: (hold) => watch("hold", async () => await ledger.hold(hold)),
    settle: (record) => watch("settle", async () => await ledger.settle(record)),
    release: (id) => watch("release", async () => await ledger.release(id)),
    markDelivered: (records) => watch("markDelivered", async () => await ledger.markDelivered(records)),
  };
}

function watchTasks(tasks: TaskStore, watch: WatchWrite): TaskStore {
  return {
    ...tasks,
    submit: (task, hold) => watch("submit", () => tasks.submit(task, hold)),
    take: async (options) => {
      // Most calls take nothing, and write nothing.
      const taken = await tasks.take(options);
      return taken.length === 0 ? taken : await watch("take", async () => taken);
    },
    markSent: (id) => watch("markSent", () => tasks.markSent(id)),
    putBack: (ids) => watch("putBack", () => tasks.putBack(ids)),
    addImages: (id, images) => watch("addImages", () => tasks.addImages(id, images)),
    end: (end) => watch("end", () => tasks.end(end)),
    cancel: (caller, id) => watch("cancel", () => tasks.cancel(caller, id)),
    sweep: (options) => watch("sweep", () => tasks.sweep(options)),
  };
}

function die(): void {
  process.kill(process.pid, "SIGKILL");
}
