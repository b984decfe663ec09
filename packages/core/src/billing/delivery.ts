import type { Logger } from "../logger.js";
import { finishWithin, isPromiseLike } from "../util/async.js";
import type { EntryFailure, MinimalLedger } from "./ledger.js";
import type { UsageRecord } from "./records.js";

/** Delivers records to `onUsage`, or alerts to `onBudget`, each at least once. */
export interface Delivery {
  /** False if the operator gave no function: then `run` does nothing. */
  readonly isNeeded: boolean;
  /** Delivers all items that wait. Resolves when each of them was tried. Does not reject. */
  readonly run: () => Promise<void>;
  /**
   * Takes no further items, because the ledger may be closed after this. Resolves when those that were taken were tried.
   * Calls of `run` do nothing from now on.
   */
  readonly stop: () => Promise<void>;
}

/** The dependencies of a delivery of records. */
export interface DeliveryParts {
  readonly ledger: MinimalLedger;
  /** The operator's function. Absent: records stay in the ledger. */
  readonly send: ((record: UsageRecord) => unknown) | undefined;
  readonly logger: Logger;
}

/** Delivers alerts to `onBudget` and to webhook endpoints. */
export interface AlertDelivery extends Delivery {
  /** Resolves when no webhook is being sent. Call it after `run` or `stop`. */
  readonly sent: () => Promise<void>;
}

interface Queue<T> {
  take(limit: number, leaseMs: number): Promise<readonly T[]>;
  markDelivered(items: readonly T[]): Promise<void>;
  readonly send: ((item: T) => unknown) | undefined;
  /** The name of the operator's function. */
  readonly name: "onUsage" | "onBudget";
  /** The items, for the log. */
  readonly items: "records" | "alerts";
  /** The field of the log that has the id of an item. */
  readonly idField: "requestId" | "alert";
  readonly logger: Logger;
}

const NOTHING = Promise.resolve();
const BATCH = 100;
/** An item whose delivery failed or took longer is delivered again after this time. */
const LEASE_MS = 30_000;

/** Creates the delivery of the records of a gateway. */
export function createRecordDelivery({ ledger, send, logger }: DeliveryParts): Delivery {
  const onUnreadable = onceForEachId(({ id, error }) => {
    logger.error(
      { requestId: id, err: error },
      "The ledger cannot read a usage record; it is not delivered.",
    );
  });
  return createQueueDelivery({
    take: (limit, leaseMs) => ledger.takeUndelivered(limit, leaseMs, onUnreadable),
    markDelivered: (records) => ledger.markDelivered(records),
    send,
    name: "onUsage",
    items: "records",
    idField: "requestId",
    logger,
  });
}

/** Creates a delivery with one pass over the waiting items at a time. */
export function createQueueDelivery<T extends { readonly id: string }>(queue: Queue<T>): Delivery {
  const { send, name, items, idField, logger } = queue;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const stopping = new AbortController();

  async function runPass(): Promise<void> {
    const failed = new Set<string>();
    try {
      let mayMoreWait = true;
      while (mayMoreWait && !stopping.signal.aborted) {
        const taken = await queue.take(BATCH, LEASE_MS);
        // If the function takes longer than the lease, the pass gets the same item again. It must not go on forever.
        const fresh = failed.size === 0 ? taken : taken.filter(({ id }) => !failed.has(id));
        const slow: Promise<void>[] = [];
        for (const item of fresh) {
          const accepted = deliver(item, failed);
          if (accepted !== undefined) slow.push(accepted);
        }
        if (slow.length > 0) await Promise.all(slow);
        const delivered = failed.size === 0 ? fresh : fresh.filter(({ id }) => !failed.has(id));
        if (delivered.length > 0) await queue.markDelivered(delivered);
        mayMoreWait = fresh.length === BATCH;
      }
    } catch (error) {
      logger.error({ err: error }, `The ledger failed; ${items} are delivered later.`);
    }
    running = undefined;
  }

  /** Returns a promise only if the operator's function does. */
  function deliver(item: T, failed: Set<string>): Promise<void> | undefined {
    const fail = (error: unknown): void => {
      logger.error({ [idField]: item.id, err: error }, `${name} failed; it is called again.`);
      failed.add(item.id);
    };
    try {
      const sent = send?.(item);
      if (!isPromiseLike(sent)) return undefined;
      const createError = (): Error => new Error(`${name} did not end in time.`);
      return finishWithin(Promise.resolve(sent), { ms: LEASE_MS, createError }).then(() => undefined, fail);
    } catch (error) {
      fail(error);
      return undefined;
    }
  }

  function begin(): Promise<void> {
    next = undefined;
    const pass = runPass();
    // After `stop` a pass has ended at once.
    if (!stopping.signal.aborted) running = pass;
    return pass;
  }

  return {
    isNeeded: send !== undefined,
    run() {
      if (send === undefined || stopping.signal.aborted) return NOTHING;
      if (running === undefined) return begin();
      // The pass in progress may have missed the newest record, so all calls until its end wait for the next pass.
      next ??= running.then(begin);
      return next;
    },
    async stop() {
      stopping.abort();
      await (next ?? running);
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
