import type { AdmissionStore } from "./admission-store.js";
import { createClaimedResponses } from "./claimed-answers.js";
import { createCooldowns } from "./cooldowns.js";
import { createLeasedPlaces } from "./leased-places.js";
import { createWindowCounts } from "./window-counts.js";

/** What the store of one process may hold. */
export interface MemoryAdmissionStoreOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Of so many answered requests with an idempotency key it is known that they ran. Default 100,000. */
  readonly maxResponses?: number | undefined;
  /** The memory that all stored answers may take, in bytes. The oldest give way. Default 64 MiB. */
  readonly maxResponseBytes?: number | undefined;
}

const DEFAULT_MAX_ANSWERS = 100_000;
const DEFAULT_MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Limits, idempotency keys and cooldowns in the memory of one process, within bounds and without timers.
 * Each process that has one counts for itself.
 *
 * @example
 * ```ts
 * import { createMemoryAdmissionStore } from "@calotype/core";
 *
 * const store = createMemoryAdmissionStore({ maxResponseBytes: 16 * 1024 * 1024 });
 * ```
 */
export function createMemoryAdmissionStore(options: MemoryAdmissionStoreOptions = {}): AdmissionStore {
  const { now = Date.now, maxResponses = DEFAULT_MAX_ANSWERS } = options;
  const { maxResponseBytes = DEFAULT_MAX_ANSWER_BYTES } = options;
  const counts = createWindowCounts();
  const places = createLeasedPlaces();
  const claims = createClaimedResponses({ maxResponses, maxResponseBytes });
  const cooldowns = createCooldowns();

  return {
    // Nothing in here waits: what is checked cannot change before it is taken.
    admit({ id, windows, concurrency, idempotency, channels }) {
      const at = now();
      claims.sweep(2, at);

      const repeat = idempotency && claims.find(idempotency, at);
      if (repeat !== undefined) return repeat;
      const reached = counts.findReached(windows, at);
      if (reached !== undefined)
        return { kind: "limited", limit: reached, windows: counts.statesOf(windows, at) };
      const full = places.findFull(concurrency, at);
      if (full !== undefined) return { kind: "crowded", limit: full, windows: counts.statesOf(windows, at) };

      places.take(concurrency, id, at);
      if (idempotency !== undefined) claims.claim(idempotency, id, at);
      return {
        kind: "admitted",
        windows: counts.take(windows, at),
        cooldowns: cooldowns.find(channels, at),
      };
    },

    finish({ id, concurrency, idempotency }, ending) {
      places.giveBack(concurrency, id);
      if (idempotency !== undefined) claims.end(idempotency, id, ending, now());
    },

    async setCooldown(channel, cooldown) {
      cooldowns.set(channel, cooldown, now());
    },
  };
}
