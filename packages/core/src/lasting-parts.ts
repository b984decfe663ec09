import { openTemporaryFile } from "#temporary-file";
import { createTransport } from "#transport";
import { createByteBudget } from "./admission/byte-budget.js";
import { createMemoryAdmissionStore } from "./admission/memory-store.js";
import { createLimitPlans } from "./admission/rate-limits.js";
import { createEntrance, createLocalConcurrency } from "./admission/slot.js";
import { createDelivery } from "./billing/delivery.js";
import { createHolds } from "./billing/hold.js";
import type { Ledger, LostPolicy } from "./billing/ledger.js";
import { createMemoryLedger } from "./billing/memory-ledger.js";
import { DEFAULT_HEALTH_POLICY } from "./channels/cooldown.js";
import { createChannelHealth } from "./channels/health.js";
import { createRetryBudgets, DEFAULT_RETRY_BUDGET } from "./channels/retry-budget.js";
import type { Configuration } from "./configuration.js";
import { type Dependencies, repeatByTimer } from "./dependencies.js";
import { createEvents } from "./events.js";
import { createSpool, toKeptBytes } from "./images/spool.js";
import { createBackgroundReads } from "./job/background-reads.js";
import { consoleLogger, createSafeLogger } from "./logger.js";
import {
  DEFAULT_BODY_LIMITS,
  DEFAULT_IDEMPOTENCY,
  DEFAULT_MAX_ANSWER_BYTES,
  DEFAULT_MAX_BYTES_IN_FLIGHT,
  DEFAULT_MAX_CALLER_SHARE,
  DEFAULT_RESPONSE_IDLE_SECONDS,
  DEFAULT_UPLOAD_MEMORY_BYTES,
  type GatewayOptions,
} from "./options/options.js";
import type { PipelineParts } from "./pipeline.js";
import { createRequestId } from "./request-id.js";
import { createReaderLimit } from "./response/reader-limit.js";
import { createFetchTransport } from "./upstream/fetch-transport.js";

/** What a gateway keeps for its life, whatever of its options is read anew. */
export interface LastingParts extends Omit<PipelineParts, keyof Configuration> {
  readonly ledger: Ledger;
  /** What a request costs if its outcome will never be known. */
  readonly onLost: LostPolicy;
}

/** Streams that are read on after their clients left. */
const BACKGROUND_READS = { streams: 1_000, ms: 900_000 };

/** @param track holds `gateway.close()` until the work is done */
export function createLastingParts(
  options: GatewayOptions,
  dependencies: Partial<Dependencies>,
  track: PipelineParts["track"],
): LastingParts {
  const now = dependencies.now ?? Date.now;
  const logger = createSafeLogger(options.logger ?? consoleLogger);
  const ledger = options.ledger ?? createMemoryLedger({ now });
  const onLost = options.billing?.onLost ?? "release";
  const admission = options.admission ?? createMemoryAdmissionStore({ now });
  const budget = createByteBudget({
    maxBytes: options.maxBytesInFlight ?? DEFAULT_MAX_BYTES_IN_FLIGHT,
    maxCallerShare: options.maxCallerShare ?? DEFAULT_MAX_CALLER_SHARE,
    now,
  });
  const spool = createSpool({
    memoryBytes: toKeptBytes(options.uploadMemoryBytes ?? DEFAULT_UPLOAD_MEMORY_BYTES),
    openFile: openTemporaryFile,
  });
  const tellFleet = async (
    id: string,
    cooldown: Parameters<typeof admission.setCooldown>[1],
  ): Promise<void> => {
    try {
      await admission.setCooldown(id, cooldown);
    } catch (error) {
      logger.warn({ err: error }, "The store of limits failed; a cooldown is known to this process only.");
    }
  };
  return {
    now,
    logger,
    ledger,
    admission,
    track,
    events: createEvents(options, logger),
    delivery: createDelivery({ ledger, send: options.onUsage, logger }),
    holds: createHolds({ ledger, logger, onLost, now }),
    onLost,
    entrance: createEntrance(budget, createLocalConcurrency(), spool),
    limits: options.limits,
    limitPlans: createLimitPlans(),
    idempotency: {
      seconds: options.idempotency?.seconds ?? DEFAULT_IDEMPOTENCY.seconds,
      maxResponseBytes: options.idempotency?.maxResponseBytes ?? DEFAULT_IDEMPOTENCY.maxResponseBytes,
    },
    responseFormat: options.responseFormat,
    bodyLimits: {
      json: options.bodyLimits?.json ?? DEFAULT_BODY_LIMITS.json,
      form: options.bodyLimits?.form ?? DEFAULT_BODY_LIMITS.form,
      file: options.bodyLimits?.file ?? DEFAULT_BODY_LIMITS.file,
      minBytesPerSecond: options.bodyLimits?.minBytesPerSecond ?? DEFAULT_BODY_LIMITS.minBytesPerSecond,
      slowAfterSeconds: options.bodyLimits?.slowAfterSeconds ?? DEFAULT_BODY_LIMITS.slowAfterSeconds,
    },
    repeat: dependencies.repeat ?? repeatByTimer,
    beforeSend: options.beforeSend,
    heartbeatMs: options.heartbeatSeconds && options.heartbeatSeconds * 1000,
    backgroundReads: createBackgroundReads(BACKGROUND_READS),
    maxResponseBytes: options.maxResponseBytes ?? DEFAULT_MAX_ANSWER_BYTES,
    health: createChannelHealth(now, DEFAULT_HEALTH_POLICY, (id, cooldown) => void tellFleet(id, cooldown)),
    readerLimit: createReaderLimit(
      (options.responseIdleSeconds ?? DEFAULT_RESPONSE_IDLE_SECONDS) * 1000,
      logger,
    ),
    retryBudgets: createRetryBudgets(now, dependencies.retryBudget ?? DEFAULT_RETRY_BUDGET),
    random: dependencies.random ?? Math.random,
    createId: dependencies.createId ?? createRequestId,
    transport:
      dependencies.transport ?? (options.fetch ? createFetchTransport(options.fetch) : createTransport()),
  };
}
