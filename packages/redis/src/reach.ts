import { isReplyError } from "./reply-error.js";
import { UnreadableError } from "./unreadable-error.js";

/** Whether Redis is there, found out by calls that fail, and by probes once one did. */
export interface Reach {
  readonly isAway: boolean;
  /**
   * The result of a call.
   *
   * @throws AwayError at once while Redis is known to be away; when the call fails for that; or after the deadline.
   * Other errors of Redis as they are
   */
  ask<T>(call: Call<T>): Promise<T>;
}

interface Call<T> {
  readonly send: () => Promise<T>;
  /** Resolves when that could be sent again with success. */
  readonly probe: () => Promise<void>;
  /** Told what came of the call after its deadline, if anything did. */
  readonly onLate?: ((result: T) => void) | undefined;
}

/** Redis is away. What was sent may have been done all the same. */
export class AwayError extends Error {
  override readonly name = "AwayError";
}

export interface ReachOptions {
  readonly deadlineMs: number;
  /** Must not throw. */
  readonly onLost: (error: unknown) => void;
  /** Told for how long it was away. Must not throw. */
  readonly onBack: (awayMs: number) => void;
}

/** Between the end of a probe and the next. */
const PROBE_PAUSE_MS = 250;
/** A client that gave no answer for so long has lost the probe. */
const PROBE_PATIENCE_MS = 30_000;

/**
 * After the first call that fails the others are spared: none waits for a server that is known to be away. In their
 * place one probe at a time is sent, by timers that keep no process alive, until one succeeds.
 */
export function createReach({ deadlineMs, onLost, onBack }: ReachOptions): Reach {
  /** When it was lost, on the clock that is never set back. */
  let lostAt: number | undefined;
  /** Counts the losses, so that no old call speaks of a new time. */
  let times = 0;

  const probeUntilBack = (probe: Call<unknown>["probe"]): void => {
    const time = times;
    const back = (): void => {
      if (lostAt === undefined || time !== times) return;
      const awayMs = Math.round(performance.now() - lostAt);
      lostAt = undefined;
      times++;
      onBack(awayMs);
    };
    const next = (): void => {
      if (lostAt === undefined || time !== times) return;
      // Clients queue what they cannot send: a second probe before the first has ended would only lengthen the queue.
      const again = once(() => setTimeout(next, PROBE_PAUSE_MS).unref());
      const patience = setTimeout(again, PROBE_PATIENCE_MS).unref();
      attempt(probe)
        .then(back, again)
        .finally(() => clearTimeout(patience));
    };
    setTimeout(next, PROBE_PAUSE_MS).unref();
  };

  const lose = (error: unknown, probe: Call<unknown>["probe"], time: number): void => {
    if (lostAt !== undefined || time !== times) return;
    lostAt = performance.now();
    times++;
    onLost(error);
    probeUntilBack(probe);
  };

  return {
    get isAway() {
      return lostAt !== undefined;
    },
    async ask({ send, probe, onLate }) {
      if (lostAt !== undefined) throw new AwayError("Redis is away.");
      const time = times;
      try {
        return await withDeadline(send, deadlineMs, onLate);
      } catch (error) {
        // Redis is there, and refuses this call: another caller's may be right.
        if (error instanceof UnreadableError) throw error;
        if (isReplyError(error, "ERR", "WRONGTYPE", "CROSSSLOT", "TRYAGAIN")) throw error;
        lose(error, probe, time);
        throw new AwayError("Redis is away.", { cause: error });
      }
    },
  };
}

/** Clients queue commands for ever while they cannot connect: what waits past the deadline is given up. */
async function withDeadline<T>(
  send: () => Promise<T>,
  deadlineMs: number,
  onLate: ((result: T) => void) | undefined,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let isOver = false;
  const giveUp = (): void => {
    isOver = true;
    reject(new Error(`Redis did not answer within ${deadlineMs} ms.`));
  };
  let afterReading: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // Where this process stood still, the answer may have come and only waits to be read.
    afterReading = setImmediate(giveUp);
  }, deadlineMs);
  const relay = async (): Promise<void> => {
    try {
      const result = await send();
      if (isOver) onLate?.(result);
      else resolve(result);
    } catch (error) {
      reject(error);
    } finally {
      clearTimeout(timer);
      clearImmediate(afterReading);
    }
  };
  void relay();
  return await promise;
}

async function attempt<T>(send: () => Promise<T>): Promise<T> {
  return await send();
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    act();
  };
}
