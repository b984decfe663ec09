import { type Delivery, onceForEachId } from "./billing/delivery.js";
import type { Holds } from "./billing/hold.js";
import type { EntryFailure, Ledger, LostPolicy } from "./billing/ledger.js";
import type { Logger } from "./logger.js";
import type { Transport } from "./upstream/transport.js";
import { MAX_TIMER_MS, type Repeat, repeatByTimer, settlesWithin } from "./util/timers.js";

/** Work that a gateway waits for before it closes. */
export interface UnderWay {
  track(work: Promise<unknown>): void;
  /** Resolves when nothing is under way, what begins meanwhile included. */
  finished(): Promise<void>;
}

/**
 * Uses a count instead of a `Set`. A `Set` whose entries come and go with requests keeps old tables alive in V8, and
 * through them finished requests, until the next full garbage collection.
 */
export function createUnderWay(): UnderWay {
  /** Counted and not listed: each entry of a list would be held as long as its work, which may be an open stream. */
  let running = 0;
  let waiting: (() => void)[] = [];
  const forget = (): void => {
    running -= 1;
    if (running > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  };
  const finished = async (): Promise<void> => {
    if (running === 0) return;
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
    });
    // What has begun meanwhile is waited for, too.
    await finished();
  };
  return {
    track(work) {
      running += 1;
      work.then(forget, forget);
    },
    finished,
  };
}

/** What is done now and then while the gateway is in use. */
export interface Maintenance {
  /**
   * Begins, if it has not begun or if its timer has ended. Call this at each request. It does not begin at creation,
   * because some hosts allow no timer before the first request.
   */
  start(): void;
  /** Resolves when what was begun is done, and what is late was asked for once more, so that whoever closes the ledger then interrupts nothing. */
  stop(): Promise<void>;
}

/** What maintenance works with. */
export interface MaintenanceParts {
  readonly ledger: Ledger;
  readonly delivery: Delivery;
  readonly holds: Holds;
  readonly onLost: LostPolicy;
  readonly logger: Logger;
}

const INTERVAL_MS = 10_000;
/** If the last round is longer ago, the timer has ended: on Workers a timer ends with the request that created it. */
const DEAD_MS = 3 * INTERVAL_MS;

/**
 * Writes what the ledger did not take, ends the holds of requests whose process died, and delivers again what the
 * operator's function did not take.
 */
export function createMaintenance(parts: MaintenanceParts, repeat: Repeat = repeatByTimer): Maintenance {
  let endRepeating: (() => void) | undefined;
  let running: Promise<void> | undefined;
  let lastBeginAt = 0;
  const onFailure = onceForEachId((failure) => reportUnended(failure, parts.logger));
  /** If a round takes longer than the interval, the next round is skipped. */
  const begin = (): void => {
    lastBeginAt = performance.now();
    if (running !== undefined) return;
    const round = maintain(parts, onFailure).finally(() => {
      if (running === round) running = undefined;
    });
    running = round;
  };
  return {
    start() {
      if (endRepeating !== undefined && performance.now() - lastBeginAt < DEAD_MS) return;
      endRepeating?.();
      // A round of a request that has ended may never finish.
      running = undefined;
      endRepeating = repeat(begin, INTERVAL_MS);
      begin();
    },
    async stop() {
      endRepeating?.();
      await running;
      await parts.holds.retryLateWrites();
    },
  };
}

async function maintain(parts: MaintenanceParts, onFailure: (failure: EntryFailure) => void): Promise<void> {
  const { ledger, delivery, holds, onLost, logger } = parts;
  // Late writes come before the sweep, because a known outcome is better than an unresolved record.
  await holds.retryLateWrites();
  try {
    const lost = await ledger.sweep({ onLost, onFailure });
    if (lost.length > 0) reportLost(lost, onLost, logger);
  } catch (error) {
    logger.error({ err: error }, "The ledger could not be swept; it is tried again.");
  }
  await delivery.run();
}

/** Reports a hold that a sweep could not end. */
function reportUnended({ id, error }: EntryFailure, logger: Logger): void {
  logger.error(
    { requestId: id, err: error },
    "The ledger cannot end a lost hold; its money stays set aside.",
  );
}

/** Tells of requests that nobody will ever know the end of. */
function reportLost(lost: readonly { readonly id: string }[], onLost: LostPolicy, logger: Logger): void {
  logger.warn(
    { requestIds: lost.map(({ id }) => id), onLost },
    "Requests were cut off; their holds became unresolved records.",
  );
}

/** What ends with a gateway. */
export interface ShutDownParts {
  readonly underWay: UnderWay;
  readonly holds: Holds;
  readonly ledger: Ledger;
  readonly delivery: Delivery;
  readonly maintenance: Maintenance;
  readonly transport: Transport;
  readonly logger: Logger;
  readonly onLost: LostPolicy;
}

/** How long records are delivered after the deadline at most. A durable ledger keeps the others for later. */
const LAST_DELIVERY_MS = 3_000;

/**
 * Waits for what is under way, or until the deadline; the requests that are left then are cut off, and their holds abandoned. Then the
 * records that wait are delivered, and the connections end.
 */
export async function shutDown(parts: ShutDownParts, deadlineMs: number): Promise<void> {
  const endsAt = performance.now() + deadlineMs;
  const isFinished = await finishesWithin(parts, deadlineMs);
  if (!isFinished) await cutOffTheRest(parts);
  const leftMs = Math.max(endsAt - performance.now(), LAST_DELIVERY_MS);
  if (!(await settlesWithin(deliverTheRest(parts), leftMs))) {
    parts.logger.warn({}, "onUsage did not take all records before the gateway had to end.");
  }
  if (isFinished) await parts.transport.close();
}

/**
 * Keeps the process alive until everything has ended. A response that no client reads is ended by a timer that does
 * not keep the process alive, and there may be no other work.
 */
async function finishesWithin({ underWay }: ShutDownParts, deadlineMs: number): Promise<boolean> {
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    return await settlesWithin(underWay.finished(), deadlineMs);
  } finally {
    clearInterval(keepAlive);
  }
}

async function deliverTheRest({ maintenance, delivery }: ShutDownParts): Promise<void> {
  await maintenance.stop();
  await delivery.run();
}

/** The outcome of these requests will never be known. An outcome that arrives later has no effect. */
async function cutOffTheRest(parts: ShutDownParts): Promise<void> {
  parts.holds.abandonAll();
  // At once: no client may get the whole response of a request whose hold was abandoned. Where the connections are
  // not ours to end there is no more to do.
  await Promise.all([parts.transport.abort?.(), sweepOwn(parts)]);
}

async function sweepOwn({ ledger, holds, logger, onLost }: ShutDownParts): Promise<void> {
  await holds.retryLateWrites();
  try {
    const lost = await ledger.sweep({
      onLost,
      own: true,
      onFailure: (failure) => reportUnended(failure, logger),
    });
    if (lost.length > 0) reportLost(lost, onLost, logger);
  } catch (error) {
    logger.error({ err: error }, "The ledger could not be swept; a later sweep ends the holds.");
  }
}
