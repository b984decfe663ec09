import type { Logger } from "../logger.js";
import { isPromiseLike, settlesWithin } from "../util/async.js";
import type { EntryFailure, Ledger } from "./ledger.js";
import type { UsageRecord } from "./records.js";

/** Delivers records to `onUsage`, each at least once. */
export interface Delivery {
  /** Delivers all records that wait. Resolves when each of them was tried. Does not reject. */
  run(): Promise<void>;
}

/** The dependencies of a delivery. */
export interface DeliveryParts {
  readonly ledger: Ledger;
  /** The operator's function. Absent: records stay in the ledger. */
  readonly send: ((record: UsageRecord) => unknown) | undefined;
  readonly logger: Logger;
}

const BATCH = 100;
/** A record whose delivery failed or took longer is delivered again after this time. */
const LEASE_MS = 30_000;

/** Creates the delivery of a gateway. There is one pass over the waiting records at a time. */
export function createDelivery({ ledger, send, logger }: DeliveryParts): Delivery {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const onUnreadable = onceForEachId(({ id, error }) => {
    logger.error(
      { requestId: id, err: error },
      "The ledger cannot read a usage record; it is not delivered.",
    );
  });

  async function runPass(): Promise<void> {
    const failed = new Set<string>();
    try {
      while (await deliverBatch(failed)) continue;
    } catch (error) {
      logger.error({ err: error }, "The ledger failed; records are delivered later.");
    }
  }

  /** Returns whether more records may wait. */
  async function deliverBatch(failed: Set<string>): Promise<boolean> {
    const records = await ledger.takeUndelivered(BATCH, LEASE_MS, onUnreadable);
    // If `onUsage` hangs for as long as the lease, the pass gets the same record again. It must not go on forever.
    const fresh = records.filter(({ id }) => !failed.has(id));
    await Promise.all(fresh.map((record) => deliver(record, failed)));
    const delivered = fresh.filter(({ id }) => !failed.has(id));
    if (delivered.length > 0) await ledger.markDelivered(delivered);
    return fresh.length === BATCH;
  }

  async function deliver(record: UsageRecord, failed: Set<string>): Promise<void> {
    try {
      const sent = send?.(record);
      if (!isPromiseLike(sent)) return;
      const taken = Promise.resolve(sent);
      if (!(await settlesWithin(taken, LEASE_MS))) throw new Error("onUsage did not end in time.");
      await taken;
    } catch (error) {
      logger.error({ requestId: record.id, err: error }, "onUsage failed; it is called again.");
      failed.add(record.id);
    }
  }

  function begin(): Promise<void> {
    next = undefined;
    running = runPass().finally(() => {
      running = undefined;
    });
    return running;
  }

  return {
    async run() {
      if (send === undefined) return;
      if (running === undefined) return begin();
      // The pass in progress may have missed the newest record, so all calls until its end wait for the next pass.
      next ??= running.then(begin);
      await next;
    },
  };
}

const MAX_REPORTED = 1_000;

/** The ledger reads a damaged entry repeatedly; the log gets one line for each entry. */
export function onceForEachId(report: (failure: EntryFailure) => void): (failure: EntryFailure) => void {
  const reported = new Set<string>();
  return (failure) => {
    if (reported.has(failure.id)) return;
    if (reported.size >= MAX_REPORTED) reported.clear();
    reported.add(failure.id);
    report(failure);
  };
}
