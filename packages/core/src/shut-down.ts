import type { Delivery } from "./billing/delivery.js";
import type { Ledger, LostPolicy } from "./billing/ledger.js";
import type { Booking } from "./booking.js";
import type { Logger } from "./logger.js";
import { type Maintenance, reportLost } from "./maintenance.js";
import type { UnderWay } from "./under-way.js";
import type { Transport } from "./upstream/transport.js";

/** What ends with a gateway. */
export interface ShutDownParts {
  readonly underWay: UnderWay;
  readonly openBookings: ReadonlySet<Booking>;
  readonly ledger: Ledger;
  readonly delivery: Delivery;
  readonly maintenance: Maintenance;
  readonly transport: Transport;
  readonly logger: Logger;
  readonly onLost: LostPolicy;
}

/**
 * Waits for what is under way, or until the deadline; what is left then is booked as lost. Then the records
 * that wait are delivered, and the connections end.
 */
export async function shutDown(parts: ShutDownParts, deadlineMs: number | undefined): Promise<void> {
  const isFinished = await finishesWithin(parts.underWay.finished(), deadlineMs);
  if (!isFinished) await loseTheRest(parts);
  await parts.maintenance.stop();
  await parts.delivery.run();
  const { transport } = parts;
  // Where the connections are not ours to end there is no more to do.
  await (isFinished ? transport.close() : transport.abort?.());
}

/** A timer that is set for longer ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

async function finishesWithin(finished: Promise<void>, ms = Number.POSITIVE_INFINITY): Promise<boolean> {
  if (ms > MAX_TIMER_MS) {
    await finished;
    return true;
  }
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([finished.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Nobody will know how these requests end; an end that comes all the same finds its books closed. */
async function loseTheRest({ openBookings, ledger, logger, onLost }: ShutDownParts): Promise<void> {
  for (const booking of openBookings) booking.lose();
  try {
    const lost = await ledger.sweep({ onLost, own: true });
    if (lost.length > 0) reportLost(lost, onLost, logger);
  } catch (error) {
    logger.error({ err: error }, "The ledger could not be swept; a later sweep ends the holds.");
  }
}
