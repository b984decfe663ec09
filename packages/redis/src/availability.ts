import { isReplyError } from "./client.js";
import { UnreadableError } from "./commands.js";

/** Knows whether Redis is available. Calls that fail and, after that, probes find it out. */
export interface Availability {
  readonly isAway: boolean;
  /**
   * Returns the result of a call.
   *
   * @throws AwayError at once while Redis is known to be away, if the call fails because Redis is away, and after the
   * deadline; other errors of Redis unchanged
   */
  call<T>(call: Call<T>): Promise<T>;
}

interface Call<T> {
  readonly send: () => Promise<T>;
  /** Resolves if `send` would succeed now. */
  readonly probe: () => Promise<void>;
  /** Called with a result that came after the deadline. */
  readonly onLate?: ((result: T) => void) | undefined;
}

/** Redis is away. With a `cause`, the call was sent and may have been executed. */
export class AwayError extends Error {
  override readonly name = "AwayError";
}

export interface AvailabilityOptions {
  readonly deadlineMs: number;
  /** Must not throw. */
  readonly onLost: (error: unknown) => void;
  /** Called with the time for which Redis was away. Must not throw. */
  readonly onBack: (awayMs: number) => void;
}

/** The time between the end of a probe and the next probe. */
const PROBE_PAUSE_MS = 250;
/** After this time without a result, the client has lost the probe. */
const PROBE_TIMEOUT_MS = 30_000;

/**
 * After the first call that fails, no other call waits for a server that is known to be away. One probe at a time is
 * sent until one succeeds. The timers do not keep the process alive.
 */
export function createAvailability({ deadlineMs, onLost, onBack }: AvailabilityOptions): Availability {
  /** When Redis was lost, on a clock that is never set back. */
  let lostAt: number | undefined;
  /** Changes at each loss and each return, so that calls and probes from before have no effect. */
  let period = 0;

  const probeUntilBack = (probe: Call<unknown>["probe"]): void => {
    const own = period;
    const back = (): void => {
      if (lostAt === undefined || own !== period) return;
      const awayMs = Math.round(performance.now() - lostAt);
      lostAt = undefined;
      period++;
      onBack(awayMs);
    };
    const next = (): void => {
      if (lostAt === undefined || own !== period) return;
      // Clients queue what they cannot send. A second probe before the end of the first would only lengthen the queue.
      const again = once(() => setTimeout(next, PROBE_PAUSE_MS).unref());
      const timeout = setTimeout(again, PROBE_TIMEOUT_MS).unref();
      attempt(probe)
        .then(back, again)
        .finally(() => clearTimeout(timeout));
    };
    setTimeout(next, PROBE_PAUSE_MS).unref();
  };

  const lose = (error: unknown, probe: Call<unknown>["probe"], sentIn: number): void => {
    if (lostAt !== undefined || sentIn !== period) return;
    lostAt = performance.now();
    period++;
    onLost(error);
    probeUntilBack(probe);
  };

  return {
    get isAway() {
      return lostAt !== undefined;
    },
    async call({ send, probe, onLate }) {
      if (lostAt !== undefined) throw new AwayError("Redis is away.");
      const sentIn = period;
      try {
        return await withDeadline(send, deadlineMs, onLate);
      } catch (error) {
        // Redis is available and refuses this call. Other calls may succeed.
        if (error instanceof UnreadableError) throw error;
        if (isReplyError(error, "ERR", "WRONGTYPE", "CROSSSLOT", "TRYAGAIN")) throw error;
        lose(error, probe, sentIn);
        throw new AwayError("Redis is away.", { cause: error });
      }
    },
  };
}

/** Clients queue commands without a time limit while they cannot connect, so the deadline is enforced here. */
async function withDeadline<T>(
  send: () => Promise<T>,
  deadlineMs: number,
  onLate: ((result: T) => void) | undefined,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  let isOver = false;
  const giveUp = (): void => {
    isOver = true;
    reject(new Error(`Redis did not reply within ${deadlineMs} ms.`));
  };
  let afterReading: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    // If this process was blocked, the reply may have arrived and only needs to be read.
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
