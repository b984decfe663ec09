import type { createMemoryHistory as create } from "./memory-history.js";

/**
 * Workers are one file, which should be small, and the memory of a Worker is soon lost. So the ledger in memory keeps no
 * totals there. The other ledgers bring what they need with them.
 */
export const createMemoryHistory: typeof create | undefined = undefined;
