import { IS_WORKERS } from "../../options/options.js";

/**
 * How tasks (`Prefer: respond-async`) are run and kept. The ledger keeps them, so they need a ledger that can: the one in
 * memory, `@calotype/sqlite` or `@calotype/postgres`. With another ledger requests with that header run as usual.
 */
export interface TaskOptions {
  /**
   * How many tasks this process runs at the same time, from 0 to 1,000. 0: none, except in `gateway.runTasks()`; for hosts
   * that stop a process between requests. Default 16; 0 on Cloudflare Workers.
   */
  readonly concurrency?: number | undefined;
  /**
   * How long a task may wait in the queue, in seconds, from 60 to 2,592,000 (30 days). Then it fails and costs nothing. Its hold
   * lasts as long. Default 86,400, a day.
   */
  readonly expiresAfterSeconds?: number | undefined;
  /** How long a task is kept after its end, in seconds, from 60 to 31,536,000 (a year). Default 604,800, 7 days. */
  readonly keepSeconds?: number | undefined;
  /**
   * How many tasks of all callers may wait or run at the same time, from 1 to 10,000,000. A caller has at most half of what the
   * others leave, and gets a 429 beyond that. Default 200,000; the ledger in memory has at most 1,000.
   */
  readonly maxOpen?: number | undefined;
  /**
   * How many bytes the requests of these tasks may have together, from 1 MiB. A caller has at most half of what the others
   * leave. Default 256 MiB; the ledger in memory has at most 128 MiB.
   */
  readonly maxOpenBytes?: number | undefined;
}

export const DEFAULT_TASKS: { readonly [Name in keyof TaskOptions]-?: number } = {
  concurrency: IS_WORKERS ? 0 : 16,
  expiresAfterSeconds: 86_400,
  keepSeconds: 604_800,
  maxOpen: 200_000,
  maxOpenBytes: 268_435_456, // 256 MiB
};
