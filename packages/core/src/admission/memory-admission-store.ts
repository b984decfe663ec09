import type { AdmissionStore } from "./admission-store.js";
import { createClaimedAnswers } from "./claimed-answers.js";
import { createCooldowns } from "./cooldowns.js";
import { createLeasedPlaces } from "./leased-places.js";
import { createWindowCounts } from "./window-counts.js";

/** What the store of one process may hold. */
export interface MemoryAdmissionStoreOptions {
  /** Milliseconds since 1970. Default `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Of so many answered requests with an idempotency key it is known that they ran. Default 100,000. */
  readonly maxAnswers?: number | undefined;
  /** The memory that all stored answers may take, in bytes. The oldest give way. Default 64 MiB. */
  readonly maxAnswerBytes?: number | undefined;
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
 * const store = createMemoryAdmissionStore({ maxAnswerBytes: 16 * 1024 * 1024 });
 * ```
 */
export function createMemoryAdmissionStore(options: MemoryAdmissionStoreOptions = {}): AdmissionStore {
  const { now = Date.now, maxAnswers = DEFAULT_MAX_ANSWERS } = options;
  const { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES } = options;
  const counts = createWindowCounts();
  const places = createLeasedPlaces();
  const claims = createClaimedAnswers({ maxAnswers, maxAnswerBytes });
  const cooldowns = createCooldowns();

  return {
    // Nothing in here awaits: what is checked cannot change before it is taken.
    async admit({ id, windows, concurrency, idempotency, channels }) {
      const at = now();
      // Two for each entry that may be added, and one that this does not stand still.
      counts.sweep(2 * windows.length + 1, at);
      places.sweep(2 * concurrency.length + 1, at);
      claims.sweep(2, at);

      const repeat = idempotency && claims.find(idempotency, at);
      if (repeat !== undefined) return repeat;
      const states = windows.map((limit) => counts.stateOf(limit, at));
      const reached = windows.find(({ cost }, index) => cost > (states[index]?.remaining ?? 0));
      if (reached !== undefined) return { kind: "limited", limit: reached, windows: states };
      const full = concurrency.find((limit) => places.isFull(limit, at));
      if (full !== undefined) return { kind: "crowded", limit: full, windows: states };

      for (const limit of concurrency) places.take(limit, id, at);
      if (idempotency !== undefined) claims.claim(idempotency, id, at);
      return {
        kind: "admitted",
        windows: windows.map((limit) => counts.take(limit, at)),
        cooldowns: cooldowns.find(channels, at),
      };
    },

    async finish({ id, concurrency, idempotency }, ending) {
      for (const { key } of concurrency) places.giveBack(key, id);
      if (idempotency !== undefined) claims.end(idempotency, id, ending, now());
    },

    async setCooldown(channel, cooldown) {
      cooldowns.set(channel, cooldown, now());
    },
  };
}
