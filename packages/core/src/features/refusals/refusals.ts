import { findAbility } from "../../billing/ledger-ability.js";
import type { FailedRequest } from "../../events.js";
import type { Kernel } from "../../kernel/feature.js";
import type { Logger } from "../../logger.js";
import { settlesWithin } from "../../util/async.js";
import { isName } from "../../util/name.js";
import { createBoundedRefusals } from "./bounded-refusals.js";
import { type Refusal, toRefusal } from "./refusal.js";
import { checkRefusalQuery, listRefusals, type RefusalList, type RefusalQuery } from "./refusal-list.js";
import { createRefusalLog } from "./refusal-log.js";
import { MAX_REFUSAL_BATCH, REFUSAL_STORE, type RefusalStore } from "./refusal-store.js";

/** Finds refused requests. */
export interface Refusals {
  /**
   * Finds the refusal of a request by its id. `undefined` if the request was not refused, or if newer refusals have replaced
   * it: the newest 1,000 of each caller are kept, or 1,000 of all in memory. On SQLite and PostgreSQL, those of other
   * processes are found after about a second.
   */
  find(id: string): Promise<Refusal | undefined>;
  /**
   * Lists refusals, the newest first, and counts them by status and code. Only those that are kept can be listed and counted, see
   * {@link Refusals.find}.
   *
   * @throws RangeError for a field that cannot be used
   */
  list(query?: RefusalQuery): Promise<RefusalList>;
}

/** The refusals of a gateway. */
export interface RefusalRecorder extends Refusals {
  /** Logs a refusal now and stores it later. Does not throw. */
  readonly add: (failed: FailedRequest) => void;
  /** Stores what waits. Refusals that come later are only logged, and found in this process. Does not reject. */
  stop(): Promise<void>;
}

/** How many refusals a process keeps if its ledger keeps none: at most 8 MiB, usually 0.5 MiB. */
const MAX_IN_MEMORY = 1_000;
const INTERVAL_MS = 1_000;
/** How long the end of a gateway waits for the store. */
const LAST_WRITE_MS = 3_000;

/**
 * Logs each refusal, and stores refusals once a second, at most 100, so that a flood of them costs the ledger little. No
 * request waits for the store. The timer runs only while there is something to write.
 */
export function createRefusals({ ledger, logger, now, repeat }: Kernel): RefusalRecorder {
  const store = findAbility(ledger, REFUSAL_STORE);
  const log = createRefusalLog(logger, () => performance.now());
  const waiting = createBoundedRefusals(store === undefined ? MAX_IN_MEMORY : MAX_REFUSAL_BATCH);
  const writer = store && createWriter(store, logger);
  let endRepeating: (() => void) | undefined;
  let isStopped = false;

  const write = (): Promise<void> | undefined => {
    log.flush();
    // While the store hangs, further refusals wait in their bounded list.
    if (writer === undefined || writer.isBusy()) return writer?.finished();
    return waiting.size === 0 ? undefined : writer.write(waiting.takeAll());
  };
  const end = (): void => {
    endRepeating?.();
    endRepeating = undefined;
  };
  const runRound = (): void => {
    if (write() === undefined) end();
  };

  return {
    add(failed) {
      const refusal = toRefusal(failed, now());
      log.write(refusal);
      waiting.add(refusal);
      if (!isStopped) endRepeating ??= repeat(runRound, INTERVAL_MS);
    },
    async find(id) {
      const known = waiting.find(id) ?? writer?.find(id);
      return known ?? (isName(id) ? await store?.find(id) : undefined);
    },
    async list(query = {}) {
      const checked = checkRefusalQuery(query);
      if (store?.list === undefined) return listRefusals(waiting.all(), checked);
      // Those of the last second.
      await writer?.finished();
      await write();
      return await store.list(checked);
    },
    async stop() {
      isStopped = true;
      end();
      const all = (async () => {
        await writer?.finished();
        await write();
      })();
      await settlesWithin(all, LAST_WRITE_MS);
    },
  };
}

/** Writes one batch at a time. */
function createWriter(store: RefusalStore, logger: Logger) {
  let batch: readonly Refusal[] = [];
  let writing: Promise<void> | undefined;
  let hasFailed = false;
  const add = async (): Promise<void> => {
    try {
      await store.add(batch);
      hasFailed = false;
    } catch (err) {
      if (!hasFailed) logger.warn({ err }, "The ledger did not store refusals; the log has them.");
      hasFailed = true;
    }
    batch = [];
    writing = undefined;
  };
  return {
    isBusy: () => writing !== undefined,
    finished: () => writing,
    find: (id: string) => batch.find((refusal) => refusal.id === id),
    write: (refusals: readonly Refusal[]): Promise<void> => {
      batch = refusals;
      return (writing = add());
    },
  };
}
