import { type Delivery, onceForEachId } from "../billing/delivery.js";
import type { Holds } from "../billing/hold.js";
import type { EntryFailure, MinimalLedger } from "../billing/ledger.js";
import type { LostPolicy } from "../billing/records.js";
import type { Chore } from "../contract/chore.js";
import { GatewayError } from "../errors.js";
import type { Logger } from "../logger.js";
import type { Transport } from "../upstream/transport.js";
import { MAX_TIMER_MS, type Repeat, repeatByTimer, settlesWithin } from "../util/async.js";

/** Knows whether work is in progress, so that a gateway can wait for it before it closes. */
export interface Tracker {
  track(work: Promise<unknown>): void;
  /** Resolves when no work is in progress, including work that began in the meantime. */
  finished(): Promise<void>;
}

/** Counts the work instead of listing it: a list would retain what each entry refers to, such as an open stream. */
export function createTracker(): Tracker {
  let running = 0;
  let waiting: (() => void)[] = [];
  const end = (): void => {
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
    // Other work may have begun in the meantime.
    await finished();
  };
  return {
    track(work) {
      running += 1;
      work.then(end, end);
    },
    finished,
  };
}

/** Work that is repeated while the gateway is in use. */
export interface Maintenance {
  /**
   * Starts the repetition, if it has not started or if its timer has ended. Call this at each request. It does not
   * start at creation, because some hosts allow no timer before the first request.
   */
  start(): void;
  /** Ends the repetition. Resolves when the current round and the late writes are done. */
  stop(): Promise<void>;
}

/** What maintenance needs of the gateway. */
export interface MaintenanceParts {
  readonly ledger: MinimalLedger;
  readonly delivery: Delivery;
  readonly holds: Holds;
  readonly onLost: LostPolicy;
  readonly logger: Logger;
  /** The background work of the features. */
  readonly chores: readonly Chore[];
}

const INTERVAL_MS = 10_000;
/** If the last round is longer ago, the timer has ended: on Workers a timer ends with the request that created it. */
const DEAD_MS = 3 * INTERVAL_MS;

/**
 * Repeats the writes that the ledger did not accept, ends the holds of processes that died, and delivers records again that the
 * operator's function did not accept. Beside that and in between, it does the chores of the features.
 */
export function createMaintenance(parts: MaintenanceParts, repeat: Repeat = repeatByTimer): Maintenance {
  const { chores, holds } = parts;
  let endRepeating: (() => void) | undefined;
  let running: Promise<void> | undefined;
  /** What each chore has begun and not ended. */
  const begun: (Promise<void> | undefined)[] = [];
  let lastBeginAt = 0;
  const onFailure = onceForEachId((failure) => reportUnendedHold(failure, parts.logger));
  const begin = (): void => {
    lastBeginAt = performance.now();
    for (const [index, chore] of chores.entries()) {
      begun[index] ??= chore.begin?.()?.finally(() => {
        begun[index] = undefined;
      });
    }
    // If a round takes longer than the interval, the next round is skipped.
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
      // A round that began in a request that has ended may never finish.
      running = undefined;
      endRepeating = repeat(begin, INTERVAL_MS);
      begin();
    },
    async stop() {
      endRepeating?.();
      await Promise.all([running, ...begun]);
      await holds.retryLateWrites();
      await Promise.all(chores.map(async (chore) => await chore.idle?.()));
    },
  };
}

async function maintain(parts: MaintenanceParts, onFailure: (failure: EntryFailure) => void): Promise<void> {
  const { chores } = parts;
  for (const { takeOver } of chores) if (takeOver !== undefined) await takeOver();
  await sweep(parts, { onFailure, ifItFails: "The ledger could not be swept; retrying every 10 s." });
  for (const { sweep: own } of chores) if (own !== undefined) await own();
  await parts.delivery.run();
}

/** Ends the holds of processes that died, or all holds of this process with `own`. */
async function sweep(
  { ledger, holds, onLost, logger }: MaintenanceParts,
  options: {
    readonly own?: true;
    readonly onFailure: (failure: EntryFailure) => void;
    readonly ifItFails: string;
  },
): Promise<void> {
  const { ifItFails, ...sweepOptions } = options;
  // Late writes come first, because a known outcome is better than an unresolved record.
  await holds.retryLateWrites();
  try {
    const lost = await ledger.sweep({ onLost, ...sweepOptions });
    if (lost.length === 0) return;
    const requestIds = lost.map(({ id }) => id);
    logger.warn({ requestIds, onLost }, "Requests were cut off; their holds became unresolved records.");
  } catch (error) {
    logger.error({ err: error }, ifItFails);
  }
}

function reportUnendedHold({ id, error }: EntryFailure, logger: Logger): void {
  logger.error(
    { requestId: id, err: error },
    "The ledger cannot end a lost hold; its money stays set aside.",
  );
}

/** What ends with a gateway. */
export interface ShutDownParts extends MaintenanceParts {
  readonly tracker: Tracker;
  readonly maintenance: Maintenance;
  readonly transport: Transport;
}

/** The maximum time for the delivery of records after the deadline. A durable ledger keeps the others for later. */
const LAST_DELIVERY_MS = 3_000;

/**
 * Waits for the requests in progress, at most until the deadline. The remaining requests are cut off, and their holds
 * abandoned. Then the waiting records are delivered, the webhooks that are being sent end, and the connections are closed.
 */
export async function shutDown(parts: ShutDownParts, deadlineMs: number): Promise<void> {
  try {
    await endAll(parts, deadlineMs);
  } finally {
    for (const chore of parts.chores) await chore.end?.();
  }
}

async function endAll(parts: ShutDownParts, deadlineMs: number): Promise<void> {
  const endsAt = performance.now() + deadlineMs;
  const { chores } = parts;
  await settlesWithin(Promise.all(chores.map(async (chore) => await chore.stop?.())), deadlineMs);
  const isFinished = await finishesWithin(parts, Math.max(endsAt - performance.now(), 0));
  if (!isFinished) await cutOffRemaining(parts);
  const leftMs = Math.max(endsAt - performance.now(), LAST_DELIVERY_MS);
  const [isDelivered, isSent] = await Promise.all([
    settlesWithin(deliverRemaining(parts), leftMs),
    settlesWithin(Promise.all(chores.map(async (chore) => await chore.finish?.())), leftMs),
  ]);
  if (!isDelivered) {
    // A request that was cut off may end later. Its record is left to the next process.
    void parts.delivery.stop();
    parts.logger.warn({}, "Not all records were delivered before the gateway had to end.");
  }
  if (!isSent) {
    parts.logger.warn({}, "Webhooks were being sent when the gateway had to end; they are sent again.");
  }
  if (!isFinished) return;
  // An attempt to send a webhook must not keep the connections open.
  await (isSent || parts.transport.abort === undefined ? parts.transport.close() : parts.transport.abort());
}

/**
 * Keeps the process alive until everything has ended. A response that no client reads is ended by a timer that does
 * not keep the process alive, and there may be no other work.
 */
async function finishesWithin({ tracker }: ShutDownParts, deadlineMs: number): Promise<boolean> {
  const keepAlive = setInterval(() => undefined, MAX_TIMER_MS);
  try {
    return await settlesWithin(tracker.finished(), deadlineMs);
  } finally {
    clearInterval(keepAlive);
  }
}

async function deliverRemaining({ maintenance, delivery, chores }: ShutDownParts): Promise<void> {
  await maintenance.stop();
  await Promise.all([delivery.run(true), ...chores.map(async (chore) => await chore.deliver?.())]);
  await delivery.stop();
}

/** The outcome of these requests will never be known. An outcome that arrives later has no effect. */
async function cutOffRemaining(parts: ShutDownParts): Promise<void> {
  parts.holds.abandonAll();
  // At the same time, because no client may get the whole response of a request whose hold was abandoned. Connections
  // of an operator's own transport may not be ours to end.
  await Promise.all([parts.transport.abort?.(), sweepOwn(parts)]);
}

async function sweepOwn(parts: ShutDownParts): Promise<void> {
  await sweep(parts, {
    own: true,
    onFailure: (failure) => reportUnendedHold(failure, parts.logger),
    ifItFails: "The ledger could not be swept; a later sweep ends the holds.",
  });
  // Not before the late writes, which know how some of this work ended.
  for (const chore of parts.chores) await chore.sweep?.(true);
}

/** The refusal of a request, or of a call of the gateway, after `close` was called. */
export function closedError(): GatewayError {
  return new GatewayError("gateway_closed", "This server is shutting down.", { retryAfterSeconds: 1 });
}
