import type { Logger } from "../logger.js";
import { isPromiseLike } from "../promise-like.js";
import { settlesWithin } from "../settles-within.js";
import type { Ledger } from "./ledger.js";
import type { UsageRecord } from "./usage-record.js";

/** Brings records to the operator's function, each at least once. */
export interface Delivery {
  /** Delivers whatever waits. Resolves when all of it was tried; never rejects. */
  run(): Promise<void>;
}

/** What a delivery works with. */
export interface DeliveryParts {
  readonly ledger: Ledger;
  /** The operator's function; without it records stay where they are. */
  readonly send: Send | undefined;
  readonly logger: Logger;
}

type Send = (record: UsageRecord) => unknown;

const BATCH = 100;
/** A record that was not taken in this time, or that failed, is delivered anew after it. */
const LEASE_MS = 30_000;

/** Passes over what waits, one at a time in this process. */
export function createDelivery({ ledger, send, logger }: DeliveryParts): Delivery {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  const pass = async (deliver: Send): Promise<void> => {
    try {
      await deliverWaiting(ledger, deliver, logger);
    } catch (error) {
      logger.error({ err: error }, "The ledger failed; records are delivered later.");
    }
    running = undefined;
  };
  const begin = (deliver: Send): Promise<void> => {
    next = undefined;
    running = pass(deliver);
    return running;
  };

  return {
    run() {
      if (send === undefined) return Promise.resolve();
      // The pass under way may have looked before the record came. The one after it is enough, and no more is waited
      // for: under a steady load there is always another.
      next ??= running?.then(() => begin(send));
      return next ?? begin(send);
    },
  };
}

/** Takes what waits until nothing more does, or until what failed before comes again. */
async function deliverWaiting(ledger: Ledger, send: Send, logger: Logger): Promise<void> {
  const failed = new Set<string>();
  for (;;) {
    const records = await ledger.takeUndelivered(BATCH, LEASE_MS);
    const fresh = records.filter(({ id }) => !failed.has(id));
    const results = await Promise.all(fresh.map((record) => attempt(send, record, logger)));
    const delivered = fresh.filter((_, index) => results[index] === true);
    if (delivered.length > 0) await ledger.markDelivered(delivered);
    for (const [index, { id }] of fresh.entries()) if (results[index] === false) failed.add(id);
    // A function that hangs for as long as the lease would be given the record again for ever, and nobody could
    // wait for the end, `gateway.close()` neither.
    if (fresh.length < records.length || records.length < BATCH) return;
  }
}

/** Whether the operator's function took the record. */
async function attempt(send: Send, record: UsageRecord, logger: Logger): Promise<boolean> {
  try {
    const sent = send(record);
    if (isPromiseLike(sent)) await withinLease(Promise.resolve(sent));
    return true;
  } catch (error) {
    logger.error({ requestId: record.id, err: error }, "onUsage failed; it is called again.");
    return false;
  }
}

/** One that hangs must not hold the others for ever. */
async function withinLease(sent: Promise<unknown>): Promise<void> {
  if (!(await settlesWithin(sent, LEASE_MS))) throw new Error("onUsage did not end in time.");
  await sent;
}
