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

  const end = (): void => {
    running = undefined;
  };
  const fail = (error: unknown): void => {
    logger.error({ err: error }, "The ledger failed; records are delivered later.");
    running = undefined;
  };
  const begin = (deliver: Send): Promise<void> => {
    next = undefined;
    running = deliverWaiting(ledger, deliver, logger).then(end, fail);
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
  const withoutFailed = (records: readonly UsageRecord[]): readonly UsageRecord[] =>
    failed.size === 0 ? records : records.filter(({ id }) => !failed.has(id));
  const fail = (record: UsageRecord, error: unknown): void => {
    logger.error({ requestId: record.id, err: error }, "onUsage failed; it is called again.");
    failed.add(record.id);
  };
  for (;;) {
    const records = await ledger.takeUndelivered(BATCH, LEASE_MS);
    const fresh = withoutFailed(records);
    const underWay = fresh.map((record) => attempt(send, record, fail)).filter((work) => work !== undefined);
    if (underWay.length > 0) await Promise.all(underWay);
    const delivered = withoutFailed(fresh);
    if (delivered.length > 0) await ledger.markDelivered(delivered);
    // A function that hangs for as long as the lease would be given the record again for ever, and nobody could
    // wait for the end, `gateway.close()` neither.
    if (fresh.length < records.length || records.length < BATCH) return;
  }
}

/** Calls the operator's function. A promise where it gave one, which never rejects. */
function attempt(
  send: Send,
  record: UsageRecord,
  fail: (record: UsageRecord, error: unknown) => void,
): Promise<void> | undefined {
  try {
    const sent = send(record);
    if (isPromiseLike(sent))
      return withinLease(Promise.resolve(sent)).catch((error: unknown) => fail(record, error));
  } catch (error) {
    fail(record, error);
  }
  return undefined;
}

/** One that hangs must not hold the others for ever. */
async function withinLease(sent: Promise<unknown>): Promise<void> {
  if (!(await settlesWithin(sent, LEASE_MS))) throw new Error("onUsage did not end in time.");
  await sent;
}
