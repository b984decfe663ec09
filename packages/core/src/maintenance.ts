import { type Delivery, onceForEachId } from "./billing/delivery.js";
import type { Holds } from "./billing/hold.js";
import type { EntryFailure, Ledger, LostPolicy } from "./billing/ledger.js";
import { type Dependencies, repeatByTimer } from "./dependencies.js";
import type { Logger } from "./logger.js";

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
export function createMaintenance(
  parts: MaintenanceParts,
  repeat: Dependencies["repeat"] = repeatByTimer,
): Maintenance {
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
export function reportUnended({ id, error }: EntryFailure, logger: Logger): void {
  logger.error(
    { requestId: id, err: error },
    "The ledger cannot end a lost hold; its money stays set aside.",
  );
}

/** Tells of requests that nobody will ever know the end of. */
export function reportLost(
  lost: readonly { readonly id: string }[],
  onLost: LostPolicy,
  logger: Logger,
): void {
  logger.warn(
    { requestIds: lost.map(({ id }) => id), onLost },
    "Requests were cut off; their holds became unresolved records.",
  );
}
