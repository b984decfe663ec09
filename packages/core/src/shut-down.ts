import type { Delivery } from "./billing/delivery.js";
import type { Holds } from "./billing/hold.js";
import type { Ledger, LostPolicy } from "./billing/ledger.js";
import type { Logger } from "./logger.js";
import { type Maintenance, reportLost, reportUnended } from "./maintenance.js";
import { MAX_TIMER_MS, settlesWithin } from "./settles-within.js";
import type { UnderWay } from "./under-way.js";
import type { Transport } from "./upstream/transport.js";

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
