import { openTemporaryFile } from "#temporary-file";
import { createTransport } from "#transport";
import { createByteBudget } from "../admission/byte-budget.js";
import { createSlots } from "../admission/slot.js";
import type { createRecordDelivery } from "../billing/delivery.js";
import { createHolds } from "../billing/hold.js";
import type { MinimalLedger } from "../billing/ledger.js";
import type { LostPolicy, UsageRecord } from "../billing/records.js";
import { createChannelHealth } from "../channels/health.js";
import { DEFAULT_HEALTH_POLICY } from "../channels/health-record.js";
import {
  createRetryBudgets,
  DEFAULT_RETRY_BUDGET,
  type RetryBudgetPolicy,
} from "../channels/retry-budget.js";
import { type BeforeSend, createEvents, createRequestId, type EventOptions } from "../events.js";
import { createSpool, toSpoolBytes } from "../images/spool.js";
import type { Logger } from "../logger.js";
import { DEFAULTS, withDefaults } from "../options/options.js";
import type { BodyLimits } from "../request/read-request.js";
import { createReaderLimit } from "../responses/reader-limit.js";
import { createBackgroundReads } from "../responses/relay.js";
import type { Cooldown, Preferences } from "../types.js";
import type { Transport } from "../upstream/transport.js";
import { createFetchTransport, type Fetch } from "../upstream/transport-fetch.js";
import { createEverySecond, type Repeat, repeatByTimer, sleepByTimer } from "../util/async.js";

/** The options of the kernel that stay when others are reloaded. */
export interface KernelOptions extends Preferences, EventOptions {
  readonly billing?: { readonly onLost?: LostPolicy | undefined } | undefined;
  readonly showCharge?: boolean | undefined;
  readonly bodyLimits?: { readonly [Kind in keyof BodyLimits]?: number | undefined } | undefined;
  readonly maxBytesInFlight?: number | undefined;
  readonly maxCallerShare?: number | undefined;
  readonly uploadMemoryBytes?: number | undefined;
  readonly maxUpstreamResponseBytes?: number | undefined;
  readonly heartbeatSeconds?: number | undefined;
  readonly responseIdleSeconds?: number | undefined;
  readonly beforeSend?: BeforeSend | undefined;
  readonly onUsage?: ((record: UsageRecord) => unknown) | undefined;
  readonly fetch?: Fetch | undefined;
}

/** Time, randomness and transport, which tests replace. */
export interface Dependencies {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Resolves after this time, in milliseconds, or once the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly createId: () => string;
  readonly transport: Transport;
  /** Repeats work at an interval. */
  readonly repeat: Repeat;
  readonly retryBudget: RetryBudgetPolicy;
  /** See `CallParts`. */
  readonly maxHeldImageBytes: number;
}

/** Most images of 1024 × 1024 have less. */
const MAX_HELD_IMAGE_BYTES = 4 * 1024 * 1024;

/** How many streams are read to their end after the client has disconnected, and for how long. Beyond that, what came is charged. */
const BACKGROUND_READS = { streams: 1_000, ms: 900_000 };

/** What the kernel gets from features, and from who creates it. */
export interface KernelContext {
  readonly ledger: MinimalLedger;
  readonly logger: Logger;
  readonly openDelivery: typeof createRecordDelivery;
  /** Shares a cooldown with other processes. `undefined`: it has ended. */
  readonly shareCooldown: (id: string, cooldown: Cooldown | undefined) => void;
  /** Creates the error of a caller that has too many requests at once in this process. */
  readonly createCrowdedError: Parameters<typeof createSlots>[2];
}

/** Creates the parts of the kernel that stay when options are reloaded. */
export function createKernelParts(
  options: KernelOptions,
  dependencies: Partial<Dependencies> & Pick<Dependencies, "now">,
  { ledger, logger, openDelivery, shareCooldown, createCrowdedError }: KernelContext,
) {
  const { now, repeat = repeatByTimer } = dependencies;
  const onLost = options.billing?.onLost ?? "release";
  const budget = createByteBudget({
    maxBytes: options.maxBytesInFlight ?? DEFAULTS.maxBytesInFlight,
    maxCallerShare: options.maxCallerShare ?? DEFAULTS.maxCallerShare,
    now,
  });
  const spool = createSpool({
    memoryBytes: toSpoolBytes(options.uploadMemoryBytes ?? DEFAULTS.uploadMemoryBytes),
    openFile: openTemporaryFile,
  });
  return {
    ledger,
    logger,
    now,
    events: createEvents(options, logger),
    delivery: openDelivery({ ledger, send: options.onUsage, logger }),
    holds: createHolds({ ledger, logger, onLost, now }),
    onLost,
    takeSlot: createSlots(budget, spool, createCrowdedError),
    showCharge: options.showCharge ?? false,
    preferences: {
      responseFormat: options.responseFormat,
      streamFormat: options.streamFormat,
      sizes: options.sizes,
    },
    bodyLimits: withDefaults(DEFAULTS.bodyLimits, options.bodyLimits),
    repeat,
    everySecond: createEverySecond(repeat),
    beforeSend: options.beforeSend,
    maxHeldImageBytes: dependencies.maxHeldImageBytes ?? MAX_HELD_IMAGE_BYTES,
    heartbeatMs: options.heartbeatSeconds && options.heartbeatSeconds * 1000,
    backgroundReads: createBackgroundReads(BACKGROUND_READS),
    maxResponseBytes: options.maxUpstreamResponseBytes ?? DEFAULTS.maxUpstreamResponseBytes,
    health: createChannelHealth(now, DEFAULT_HEALTH_POLICY, shareCooldown),
    readerLimit: createReaderLimit(
      (options.responseIdleSeconds ?? DEFAULTS.responseIdleSeconds) * 1000,
      logger,
    ),
    retryBudgets: createRetryBudgets(now, dependencies.retryBudget ?? DEFAULT_RETRY_BUDGET),
    random: dependencies.random ?? Math.random,
    sleep: dependencies.sleep ?? sleepByTimer,
    createId: dependencies.createId ?? createRequestId,
    transport:
      dependencies.transport ?? (options.fetch ? createFetchTransport(options.fetch) : createTransport()),
  };
}
