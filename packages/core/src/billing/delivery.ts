import type { Logger } from "../logger.js";
import { finishWithin, isPromiseLike } from "../util/async.js";
import { type EntryFailure, type MinimalLedger, OUTBOX_READERS } from "./ledger.js";
import { findAbility } from "./ledger-ability.js";
import type { UsageRecord } from "./records.js";

/** Delivers the entries of one kind that an outbox has, each at least once. */
export interface Delivery {
  /** False if there is no receiver: then `run` does nothing. */
  readonly isNeeded: boolean;
  /**
   * Delivers all entries that wait. Resolves when each of them was tried, or was begun to be sent. Does not reject.
   *
   * @param atOnce whether a delivery that waits for further entries begins now
   */
  readonly run: (atOnce?: boolean) => Promise<void>;
  /**
   * Takes no further entries, because the ledger may be closed after this. Resolves when those that were taken were tried.
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

/** What a delivery works with: the entries of one kind, and who gets them. */
export interface Receiver<Entry extends { readonly id: string }> {
  /** Who gets the entries, for the log. */
  readonly name: string;
  /** Leases entries that are due. */
  lease(limit: number, leaseMs: number): Promise<readonly Entry[]>;
  /**
   * Gives an entry to its receiver. Throws or rejects if it was not accepted: then it is due again after its lease. `PENDING`: the
   * receiver ends the entry itself.
   */
  receive(entry: Entry): unknown;
  /** Ends the delivery of entries that were accepted. */
  done(entries: readonly Entry[]): Promise<void>;
  /** How many entries may be leased now. Default 100. */
  countRoom?(): number;
  /** What the log says of an entry that was not accepted. */
  readonly onFailure: (entry: Entry, error: unknown) => void;
  /** What the log says if the ledger fails. */
  readonly onLedgerFailure: (error: unknown) => void;
}

/** See {@link Receiver.receive}. */
export const PENDING: unique symbol = Symbol("pending");

const NOTHING = Promise.resolve();
const BATCH = 100;
/**
 * An entry whose delivery failed, or whose process died, is delivered again after this time. A function of the operator has as
 * much time. A message has it until its attempt begins, and then the time of an attempt.
 */
export const LEASE_MS = 30_000;

/** Logs each record that the ledger cannot read once. */
export function logUnreadable(logger: Logger): (failure: EntryFailure) => void {
  return onceForEachId(({ id, error }) => {
    logger.error(
      { requestId: id, err: error },
      "The ledger cannot read a usage record; it is not delivered.",
    );
  });
}

/** Creates the delivery of the records of a gateway. */
export function createRecordDelivery({ ledger, send, logger }: DeliveryParts): Delivery {
  findAbility(ledger, OUTBOX_READERS)?.setReader("record", send !== undefined);
  const onUnreadable = logUnreadable(logger);
  return createDelivery(
    send && {
      name: "onUsage",
      lease: (limit, leaseMs) => ledger.takeUndelivered(limit, leaseMs, onUnreadable),
      receive: send,
      done: (records) => ledger.markDelivered(records),
      onFailure: ({ id }, error) =>
        logger.error({ requestId: id, err: error }, "onUsage failed; it is called again."),
      onLedgerFailure: (error) =>
        logger.error({ err: error }, "The ledger failed; records are delivered later."),
    },
  );
}

/**
 * Creates a delivery with one pass over the waiting entries at a time.
 *
 * @param receiver absent: the entries stay in the ledger
 */
export function createDelivery<Entry extends { readonly id: string }>(
  receiver: Receiver<Entry> | undefined,
): Delivery {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const stopping = new AbortController();

  async function runPass(to: Receiver<Entry>): Promise<void> {
    const open = new Set<string>();
    try {
      let mayMoreWait = true;
      while (mayMoreWait && !stopping.signal.aborted) {
        const limit = to.countRoom?.() ?? BATCH;
        if (limit <= 0) break;
        const taken = await to.lease(limit, LEASE_MS);
        // If a receiver takes longer than the lease, the pass gets the same entry again. It must not go on forever.
        const fresh = open.size === 0 ? taken : taken.filter(({ id }) => !open.has(id));
        const slow: Promise<void>[] = [];
        for (const entry of fresh) {
          const accepted = deliver(to, entry, open);
          if (accepted !== undefined) slow.push(accepted);
        }
        if (slow.length > 0) await Promise.all(slow);
        const accepted = open.size === 0 ? fresh : fresh.filter(({ id }) => !open.has(id));
        if (accepted.length > 0) await to.done(accepted);
        mayMoreWait = fresh.length === limit;
      }
    } catch (error) {
      to.onLedgerFailure(error);
    }
    running = undefined;
  }

  function begin(to: Receiver<Entry>): Promise<void> {
    next = undefined;
    const pass = runPass(to);
    // After `stop` a pass has ended at once.
    if (!stopping.signal.aborted) running = pass;
    return pass;
  }

  return {
    isNeeded: receiver !== undefined,
    run() {
      if (receiver === undefined || stopping.signal.aborted) return NOTHING;
      if (running === undefined) return begin(receiver);
      // The pass in progress may have missed the newest entry, so all calls until its end wait for the next pass.
      next ??= running.then(() => begin(receiver));
      return next;
    },
    async stop() {
      stopping.abort();
      await (next ?? running);
    },
  };
}

/**
 * Returns a promise only if the receiver does.
 *
 * @param open gets the id of an entry that is not ended
 */
function deliver<Entry extends { readonly id: string }>(
  to: Receiver<Entry>,
  entry: Entry,
  open: Set<string>,
): Promise<void> | undefined {
  const fail = (error: unknown): void => {
    to.onFailure(entry, error);
    open.add(entry.id);
  };
  try {
    const received = to.receive(entry);
    if (received === PENDING) open.add(entry.id);
    if (!isPromiseLike(received)) return undefined;
    const createError = (): Error => new Error(`${to.name} did not end in time.`);
    return finishWithin(Promise.resolve(received), { ms: LEASE_MS, createError }).then(() => undefined, fail);
  } catch (error) {
    fail(error);
    return undefined;
  }
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
