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
  const failed = new FailedRecords(logger);
  for (;;) {
    const records = await ledger.takeUndelivered(BATCH, LEASE_MS);
    const fresh = failed.without(records);
    const underWay: Promise<void>[] = [];
    for (const record of fresh) {
      const work = attempt(send, record, failed);
      if (work !== undefined) underWay.push(work);
    }
    if (underWay.length > 0) await Promise.all(underWay);
    const delivered = failed.without(fresh);
    if (delivered.length > 0) await ledger.markDelivered(delivered);
    // A function that hangs for as long as the lease would be given the record again for ever, and nobody could
    // wait for the end, `gateway.close()` neither.
    if (fresh.length < records.length || records.length < BATCH) return;
  }
}

/** The records of one pass that were not taken. */
class FailedRecords {
  readonly #logger: Logger;
  #ids: Set<string> | undefined;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  add({ id }: UsageRecord, error: unknown): void {
    this.#logger.error({ requestId: id, err: error }, "onUsage failed; it is called again.");
    this.#ids ??= new Set();
    this.#ids.add(id);
  }

  without(records: readonly UsageRecord[]): readonly UsageRecord[] {
    const ids = this.#ids;
    return ids === undefined ? records : records.filter(({ id }) => !ids.has(id));
  }
}

/** Calls the operator's function. A promise where it gave one, which never rejects. */
function attempt(send: Send, record: UsageRecord, failed: FailedRecords): Promise<void> | undefined {
  try {
    const sent = send(record);
    if (isPromiseLike(sent)) {
      return withinLease(Promise.resolve(sent)).catch((error: unknown) => failed.add(record, error));
    }
  } catch (error) {
    failed.add(record, error);
  }
  return undefined;
}

/** One that hangs must not hold the others for ever. */
async function withinLease(sent: Promise<unknown>): Promise<void> {
  if (!(await settlesWithin(sent, LEASE_MS))) throw new Error("onUsage did not end in time.");
  await sent;
}
