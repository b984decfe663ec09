import { setTimeout as sleep } from "node:timers/promises";
import { isSqliteError } from "./sqlite-error.js";

const PATIENCE_MS = 10_000;
const LONGEST_PAUSE_MS = 10;

/**
 * Does what another process may be in the way of, again and again for ten seconds. SQLite's own waiting would
 * stop the whole process meanwhile; this stops the caller only.
 */
export async function retryWhileBusy<T>(attempt: () => T, patienceMs: number = PATIENCE_MS): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isSqliteError(error, "busy")) throw error;
      if (performance.now() > deadline) {
        throw new Error(`Another process keeps the ledger's file locked for more than ${patienceMs} ms.`, {
          cause: error,
        });
      }
    }
    // Of random length, so that processes that wait for one another do not come back together.
    await sleep(1 + Math.random() * LONGEST_PAUSE_MS);
  }
}
