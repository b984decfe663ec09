import type { Logger } from "../logger.js";
import { type Awaitable, isPromiseLike } from "../util/promise-like.js";
import { settlesWithin } from "../util/timers.js";
import type { EntryFailure, Ledger } from "./ledger.js";
import type { UsageRecord } from "./usage-record.js";

/** Brings records to the operator's function, each at least once. */
export interface Delivery {
  /** Delivers whatever waits. Resolves when all of it was tried; nothing to wait for where it was at once. Never rejects. */
  run(): Promise<void> | undefined;
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
  const onUnreadable = onceForEachId(({ id, error }) => {
    logger.error(
      { requestId: id, err: error },
      "The ledger cannot read a usage record; it is not delivered.",
    );
  });
  const begin = (deliver: Send): Promise<void> | undefined => {
    next = undefined;
    try {
      const pass = deliverWaiting({ ledger, send: deliver, failed: new FailedRecords(logger), onUnreadable });
      running = isPromiseLike(pass) ? pass.then(end, fail) : undefined;
    } catch (error) {
      fail(error);
    }
    return running;
  };

  return {
    run() {
      if (send === undefined) return undefined;
      // The pass under way may have looked before the record came. The one after it is enough, and no more is waited
      // for: under a steady load there is always another.
      next ??= running?.then(() => begin(send));
      return next ?? begin(send);
    },
  };
}

const MOST_REPORTED = 1_000;

/** The ledger reads a damaged entry repeatedly; the log gets one line for each entry. */
export function onceForEachId(report: (failure: EntryFailure) => void): (failure: EntryFailure) => void {
  const reported = new Set<string>();
  return (failure) => {
    if (reported.has(failure.id)) return;
    if (reported.size >= MOST_REPORTED) reported.clear();
    reported.add(failure.id);
    report(failure);
  };
}

/** One pass over what waits. */
interface Pass {
  readonly ledger: Ledger;
  readonly send: Send;
  readonly failed: FailedRecords;
  /** Logs a stored record that the ledger cannot read. */
  readonly onUnreadable: (failure: EntryFailure) => void;
}

/** Takes what waits until nothing more does, or until what failed before comes again. */
function deliverWaiting(pass: Pass): Awaitable<void> {
  for (;;) {
    const more = deliverBatch(pass);
    if (isPromiseLike(more)) return deliverRest(pass, more);
    if (!more) return undefined;
  }
}

async function deliverRest(pass: Pass, first: Awaitable<boolean>): Promise<void> {
  let more = await first;
  while (more) more = await deliverBatch(pass);
}

/** Whether more may wait. */
function deliverBatch(pass: Pass): Awaitable<boolean> {
  const records = pass.ledger.takeUndelivered(BATCH, LEASE_MS, pass.onUnreadable);
  return isPromiseLike(records)
    ? records.then((taken) => sendRecords(pass, taken))
    : sendRecords(pass, records);
}

function sendRecords(pass: Pass, records: readonly UsageRecord[]): Awaitable<boolean> {
  const { send, failed } = pass;
  const fresh = failed.without(records);
  const underWay: Promise<void>[] = [];
  for (const record of fresh) {
    const work = attempt(send, record, failed);
    if (work !== undefined) underWay.push(work);
  }
  // A function that hangs for as long as the lease would be given the record again for ever, and nobody could
  // wait for the end, `gateway.close()` neither.
  const more = fresh.length === records.length && records.length === BATCH;
  if (underWay.length === 0) return markSent(pass, fresh, more);
  return Promise.all(underWay).then(() => markSent(pass, fresh, more));
}

/** @returns `more`, when the ledger knows */
function markSent(
  { ledger, failed }: Pass,
  records: readonly UsageRecord[],
  more: boolean,
): Awaitable<boolean> {
  const delivered = failed.without(records);
  if (delivered.length === 0) return more;
  const marked = ledger.markDelivered(delivered);
  return isPromiseLike(marked) ? marked.then(() => more) : more;
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
