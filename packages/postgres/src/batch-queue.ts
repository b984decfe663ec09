import { setImmediate as nextTurn } from "node:timers/promises";
import { isRefusal } from "./postgres-error.js";
import { withDeadline } from "./with-deadline.js";

/** The maximum number of items in one transaction. It bounds how long the transaction keeps its locks. */
const LARGEST_BATCH = 256;

/** Transactions at the same time. With two, one that waits for a lock does not stop all writes. */
const LANES = 2;

/** Accepts items one by one and processes them in batches. */
export interface BatchQueue<Item, Result> {
  /**
   * Resolves when the item is committed. Rejects after the timeout; an item that has not been started by then never
   * is.
   */
  run(item: Item): Promise<Result>;
  /** Resolves when every item added so far has been processed or has failed. */
  settled(): Promise<void>;
}

/** Processes items with distinct ids in one transaction. Returns their results in the same order. */
type DoTogether<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

interface Entry<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Puts items that are added in the same turn of the event loop, or while a transaction runs, into one transaction,
 * because the round trip and the commit take longer than the operations. If the server rejects the data of one item,
 * only that item fails.
 *
 * @param onLate called with the result of an item that was committed after its promise had rejected
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

/** Takes the oldest entries, at most one of each id. Others with the same id wait for the next batch. */
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

/** Resolves or rejects the promise of each entry. Never rejects itself. */
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
