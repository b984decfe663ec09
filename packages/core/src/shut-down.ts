import type { Delivery } from "./billing/delivery.js";
import type { Ledger, LostPolicy } from "./billing/ledger.js";
import type { Booking } from "./job/booking.js";
import type { LateWrites } from "./job/late-writes.js";
import type { Logger } from "./logger.js";
import { type Maintenance, reportLost, reportUnended } from "./maintenance.js";
import { MAX_TIMER_MS, settlesWithin } from "./settles-within.js";
import type { UnderWay } from "./under-way.js";
import type { Transport } from "./upstream/transport.js";

/** What ends with a gateway. */
export interface ShutDownParts {
  readonly underWay: UnderWay;
  readonly openBookings: Iterable<Booking>;
  readonly ledger: Ledger;
  readonly lateWrites: LateWrites;
  readonly delivery: Delivery;
  readonly maintenance: Maintenance;
  readonly transport: Transport;
  readonly logger: Logger;
  readonly onLost: LostPolicy;
}

/** How long records are delivered after the deadline at most. A durable ledger keeps the others for later. */
const LAST_DELIVERY_MS = 3_000;

/**
 * Waits for what is under way, or until the deadline; what is left then is cut off and booked as lost. Then the
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

/** Nobody will know how these requests end; an end that comes all the same finds its books closed. */
async function cutOffTheRest(parts: ShutDownParts): Promise<void> {
  for (const booking of parts.openBookings) booking.lose();
  // At once: no client may get the whole answer of a request that is booked as lost. Where the connections are
  // not ours to end there is no more to do.
  await Promise.all([parts.transport.abort?.(), sweepOwn(parts)]);
}

async function sweepOwn({ ledger, lateWrites, logger, onLost }: ShutDownParts): Promise<void> {
  await lateWrites.run();
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
