import { createDelivery, type Delivery, type DeliveryParts, logUnreadable } from "../../billing/delivery.js";
import { OUTBOX_READERS } from "../../billing/ledger.js";
import { findAbility } from "../../billing/ledger-ability.js";
import type { UsageRecord } from "../../billing/records.js";
import type { Feature } from "../../kernel/feature.js";
import { throwProblems } from "../../options/problems.js";
import { sleepByTimer } from "../../util/async.js";
import { RECORDS_IN_ORDER } from "../outbox/outbox.js";
import { findBatchProblems } from "./batch-options.js";

/** The options of {@link usageBatches}. */
export interface UsageBatchesOptions {
  /** Called with up to 1,000 records at a time, as `onUsageBatch` of `createGateway`. */
  readonly onUsageBatch: (records: readonly UsageRecord[]) => unknown;
}

/** Delivers usage records in batches, in the order of each caller. In place of `onUsage`. The ledger must have an outbox. */
export function usageBatches({ onUsageBatch }: UsageBatchesOptions): Feature {
  return {
    name: "usageBatches",
    openDelivery: (parts) => createBatchDelivery(onUsageBatch, parts),
    setup: () => ({}),
  };
}

interface RecordBatch {
  /** That of its first record. */
  readonly id: string;
  readonly records: readonly UsageRecord[];
}

const MAX_RECORDS = 1_000;
/** How long a pass waits for further records. */
const WAIT_MS = 1_000;

/**
 * The delivery of records with a batch as its entry. A pass leases batches as long as they are full. A record that waits for an
 * earlier one of its caller, which another process has leased, is found by the pass that follows each pass with a batch.
 */
function createBatchDelivery(
  onUsageBatch: UsageBatchesOptions["onUsageBatch"],
  { ledger, send, logger }: DeliveryParts,
): Delivery {
  const outbox = findAbility(ledger, RECORDS_IN_ORDER);
  throwProblems(findBatchProblems({ onUsage: send, ledger }));
  findAbility(ledger, OUTBOX_READERS)?.setReader("record", true);
  const onUnreadable = logUnreadable(logger);
  let mayMoreWait = true;
  let hasDelivered = false;
  const delivery = createDelivery<RecordBatch>(
    outbox && {
      name: "onUsageBatch",
      countRoom: () => (mayMoreWait ? 1 : 0),
      async lease(_limit, leaseMs) {
        const records = await outbox.leaseInOrder({ limit: MAX_RECORDS, leaseMs, onUnreadable });
        mayMoreWait = records.length === MAX_RECORDS;
        return records.slice(0, 1).map(({ id }) => ({ id, records }));
      },
      receive: ({ records }) => onUsageBatch(records),
      async done(batches) {
        for (const { records } of batches) await outbox.done("record", records);
        hasDelivered = true;
      },
      onFailure({ id, records }, error) {
        // What made it fail may make the next batch fail too.
        mayMoreWait = false;
        logger.error(
          { requestId: id, records: records.length, err: error },
          "onUsageBatch failed; it is called again with these records.",
        );
      },
      onLedgerFailure: (error) =>
        logger.error({ err: error }, "The ledger failed; records are delivered later."),
    },
  );

  let waiting: NextPass | undefined;
  let isStopped = false;
  let last = Promise.resolve();

  async function runPass(): Promise<void> {
    waiting = undefined;
    mayMoreWait = true;
    hasDelivered = false;
    await delivery.run();
    if (hasDelivered) void run();
  }

  function beginWaiting(): NextPass {
    const enough = new AbortController();
    const due = sleepByTimer(WAIT_MS, enough.signal);
    last = Promise.all([last, due]).then(runPass);
    return { count: 0, enough, ended: last };
  }

  function run(atOnce = false): Promise<void> {
    if (isStopped) return last;
    waiting ??= beginWaiting();
    waiting.count += 1;
    if (atOnce || waiting.count >= MAX_RECORDS) waiting.enough.abort();
    return waiting.ended;
  }

  return {
    isNeeded: true,
    run,
    async stop() {
      isStopped = true;
      const stopped = delivery.stop();
      waiting?.enough.abort();
      await stopped;
    },
  };
}

/** A pass that has not begun. */
interface NextPass {
  /** How often it was asked for: about as many records wait. */
  count: number;
  /** Begins the pass. */
  readonly enough: AbortController;
  readonly ended: Promise<void>;
}
