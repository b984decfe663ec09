import { toRefusal } from "./refusal.js";
import type { createRefusals as create } from "./refusals.js";
import { writeRefusal } from "./write-refusal.js";

const MAX_LINES = 100;

/**
 * Workers are one file, which should be small, their memory is soon lost, and their timers end with a request. So refusals are
 * only logged there, at most a hundred in a second.
 */
export const createRefusals: typeof create = ({ logger, now }) => {
  let second = 0;
  let lines = 0;
  return {
    add(failed) {
      const refusal = toRefusal(failed, now());
      const current = Math.floor(now() / 1_000);
      lines = current === second ? lines + 1 : 1;
      second = current;
      if (lines <= MAX_LINES) writeRefusal(logger, refusal);
    },
    find: async () => undefined,
    list: async () => ({ refusals: [], counts: [] }),
    stop: async () => undefined,
  };
};
