import { setImmediate as nextTurn } from "node:timers/promises";
import { isRefusal } from "./postgres-error.js";
import { withDeadline } from "./with-deadline.js";

/** Bounds how long one transaction keeps the locks of its callers. */
const LARGEST_BATCH = 256;

/** One is under way while the next one gathers, and one that waits for a lock does not stop all. */
const LANES = 2;

/** Takes things one by one, and does them together. */
export interface BatchQueue<Item, Result> {
  /** Resolves when it is done and durable; rejects when that takes too long, and is not begun afterwards. */
  run(item: Item): Promise<Result>;
  /** Resolves when all that was asked for until now is done or has failed. */
  settled(): Promise<void>;
}

/** Does some things, no two of one id, as one transaction; gives their results in their order. */
type DoTogether<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

interface Entry<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts all that is asked for in one turn of the event loop, and while the transaction before is under way, into one
 * transaction: what costs is the way to the server and its commit, and not the operations. One whose data the server
 * refuses fails alone.
 *
 * @param onLate told of what was done all the same after its promise had rejected for its time
 */
export function createBatchQueue<Item extends { readonly id: string }, Result>(
  timeoutMs: number,
  doTogether: DoTogether<Item, Result>,
  onLate: (item: Item, result: Result) => void = () => undefined,
): BatchQueue<Item, Result> {
  const pending = new Set<Entry<Item, Result>>();
  const lanes = new Set<Promise<void>>();

  const drain = async (): Promise<void> => {
    await nextTurn();
    while (pending.size > 0) {
      const batch = takeBatch(pending);
      for (const entry of batch) pending.delete(entry);
      await finish(batch, doTogether);
    }
  };
  const openLane = (): void => {
    const lane = drain().finally(() => lanes.delete(lane));
    lanes.add(lane);
  };
  return {
    run: async (item) => {
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      const entry = { item, resolve, reject };
      pending.add(entry);
      if (lanes.size < LANES) openLane();
      try {
        return await withDeadline(promise, timeoutMs, (result) => onLate(item, result));
      } finally {
        pending.delete(entry);
      }
    },
    settled: async () => void (await Promise.all(lanes)),
  };
}

/** The oldest entries, of each id the first; a second one waits for another batch. */
function takeBatch<Item extends { readonly id: string }, Result>(
  pending: Iterable<Entry<Item, Result>>,
): Entry<Item, Result>[] {
  const batch = new Map<string, Entry<Item, Result>>();
  for (const entry of pending) {
    if (batch.size === LARGEST_BATCH) break;
    if (!batch.has(entry.item.id)) batch.set(entry.item.id, entry);
  }
  return [...batch.values()];
}

/** Never rejects: tells each entry what became of it. */
async function finish<Item, Result>(
  batch: readonly Entry<Item, Result>[],
  doTogether: DoTogether<Item, Result>,
): Promise<void> {
  try {
    const results = await doTogether(batch.map(({ item }) => item));
    for (const [at, result] of results.entries()) batch[at]?.resolve(result);
  } catch (error) {
    if (batch.length > 1 && isRefusal(error)) {
      const middle = Math.ceil(batch.length / 2);
      await finish(batch.slice(0, middle), doTogether);
      await finish(batch.slice(middle), doTogether);
      return;
    }
    for (const { reject } of batch) reject(error);
  }
}
