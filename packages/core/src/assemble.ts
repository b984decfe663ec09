import { createRefusals } from "#refusals";
import { openTemporaryFile } from "#temporary-file";
import { createTransport } from "#transport";
import { createByteBudget } from "./admission/byte-budget.js";
import { createMemoryAdmissionStore } from "./admission/memory-store.js";
import { createPauses } from "./admission/pauses.js";
import { createSlots } from "./admission/slot.js";
import { findBudgetStore } from "./billing/budget.js";
import { type CallerStore, findCallerStore } from "./billing/caller-store.js";
import { type AlertDelivery, createAlertDelivery, createRecordDelivery } from "./billing/delivery.js";
import { createHolds } from "./billing/hold.js";
import type { BudgetStore, Ledger } from "./billing/ledger.js";
import { createMemoryLedger } from "./billing/memory-ledger.js";
import type { LostPolicy } from "./billing/records.js";
import { createAttemptHistory } from "./channels/attempt-history.js";
import { healthIdsOf } from "./channels/channel.js";
import { createChannelHealth } from "./channels/health.js";
import { DEFAULT_HEALTH_POLICY } from "./channels/health-record.js";
import { createRetryBudgets, DEFAULT_RETRY_BUDGET, type RetryBudgetPolicy } from "./channels/retry-budget.js";
import { type Configuration, type ConfigurationContext, configure, configureFirst } from "./configuration.js";
import { type CallContinuer, createCallContinuer } from "./continue-calls.js";
import type { CallObservation } from "./contract/observer.js";
import { createEvents, createRequestId } from "./events.js";
import { createStoredCallers, type StoredCallers } from "./features/callers/stored-callers.js";
import type { ModelsParts } from "./features/models-list/models-endpoint.js";
import type { RefusalRecorder } from "./features/refusals/refusals.js";
import { createResults, type Results } from "./features/results/results.js";
import { createSweeper, type Sweeper } from "./features/results/sweeper.js";
import { findTaskStore } from "./features/tasks/find-task-store.js";
import type { Tasks } from "./features/tasks/submit.js";
import { createTaskSweep, type SweepTasks } from "./features/tasks/sweep.js";
import { writeTaskSummary } from "./features/tasks/task-object.js";
import { createTaskWorker, type TaskWorker } from "./features/tasks/worker.js";
import { createCallLog } from "./features/telemetry/call-log.js";
import { createObservation } from "./features/telemetry/observation.js";
import { type AlertWebhooksParts, createAlertWebhooks } from "./features/webhooks/budget-alerts.js";
import { createWebhooks, type WebhookDelivery } from "./features/webhooks/webhooks.js";
import { createSpool, toSpoolBytes } from "./images/spool.js";
import { createMaintenance, createTracker, type Maintenance, type Tracker } from "./lifecycle.js";
import { consoleLogger, createSafeLogger, type Logger } from "./logger.js";
import { loadOptions } from "./options/load.js";
import {
  DEFAULT_BODY_LIMITS,
  DEFAULT_IDEMPOTENCY,
  DEFAULT_MAX_BYTES_IN_FLIGHT,
  DEFAULT_MAX_CALLER_SHARE,
  DEFAULT_MAX_UPSTREAM_RESPONSE_BYTES,
  DEFAULT_RESPONSE_IDLE_SECONDS,
  DEFAULT_TASKS,
  DEFAULT_UPLOAD_MEMORY_BYTES,
  type GatewayOptions,
} from "./options/options.js";
import type { PipelineParts } from "./pipeline.js";
import { createReloadable, type Reloadable } from "./reloadable.js";
import { findPathBefore } from "./request/route.js";
import { createReaderLimit } from "./responses/reader-limit.js";
import { createBackgroundReads } from "./responses/relay.js";
import type { Cooldown } from "./types.js";
import type { Transport } from "./upstream/transport.js";
import { createFetchTransport } from "./upstream/transport-fetch.js";
import { createEverySecond, type Repeat, repeatByTimer, sleepByTimer } from "./util/async.js";

/** The parts of a gateway. */
export interface GatewayAssembly {
  /** The parts that stay when options are reloaded. */
  readonly permanent: PermanentParts;
  /** All parts of the pipeline, with the current options. */
  readonly reloadable: Reloadable<GatewayParts>;
  readonly tracker: Tracker;
  readonly maintenance: Maintenance;
  /** Runs tasks. `undefined` if the ledger keeps none. */
  readonly worker: TaskWorker | undefined;
  readonly webhooks: WebhookDelivery;
  /** Continues the requests that dead processes left. `undefined` if the ledger keeps none. */
  readonly continuer: CallContinuer | undefined;
}

/** What requests of all kinds need. */
export type GatewayParts = PipelineParts & ModelsParts & Configuration;

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

/**
 * Validates the options and creates the parts of a gateway.
 *
 * @throws GatewayOptionsError for problems of the options that are available at once
 */
export function assembleGateway(
  options: GatewayOptions,
  dependencies: Partial<Dependencies>,
): GatewayAssembly {
  const now = dependencies.now ?? Date.now;
  const ledger = options.ledger ?? createMemoryLedger({ now });
  const callerStore = findCallerStore(ledger);
  const ownLogger = createSafeLogger(options.logger ?? consoleLogger);
  const observation = createOptionalObservation(options, ownLogger, now);
  const logger = observation?.logger ?? ownLogger;
  const storedCallers = callerStore && createStoredCallers({ store: callerStore, logger });
  const context: ConfigurationContext = { now, logger, storedCallers };
  const first = configureFirst(options, context);
  const tracker = createTracker();
  const lasting = { ledger, logger, observation, callerStore, storedCallers };
  const permanent = createPermanentParts(
    options,
    { ...dependencies, now },
    {
      ...lasting,
      track: (work) => tracker.track(work),
      findEndpoints: () => {
        const { current } = reloadable;
        return current === undefined ? "not loaded" : current.webhookEndpoints;
      },
    },
  );
  const combine = (configuration: Configuration): GatewayParts => ({
    ...permanent,
    ...configuration,
    transport: configuration.maskTransport(permanent.transport),
  });
  const reloadable = createReloadable(
    first instanceof Promise ? first.then(combine) : combine(first),
    async () => combine(configure(await loadOptions(options), context)),
    ({ channels, models }) => {
      permanent.health.retain(healthIdsOf(channels));
      permanent.history.retain(channels.map(({ id }) => id));
      permanent.retryBudgets.retain(Object.keys(models));
    },
  );
  const worker = permanent.tasks && createWorker(permanent, permanent.tasks, () => reloadable.get());
  const webhooks = createWebhooks({
    ...permanent,
    tasks: permanent.tasks?.store,
    endpoints: () => reloadable.current?.webhookEndpoints,
    writeSummary: writeTaskSummary,
  });
  const continuer = createCallContinuer({ ...permanent, loadParts: () => reloadable.get() });
  const continuesInBatches = options.tasks?.concurrency === 0;
  const maintenance = createMaintenance(
    {
      ...permanent,
      worker,
      webhooks,
      continuer,
      continuesInBatches,
      async refreshPauses() {
        const { current } = reloadable;
        if (current !== undefined) await permanent.pauses.refresh(current.channels);
      },
    },
    dependencies.repeat,
  );
  return { permanent, reloadable, tracker, maintenance, worker, webhooks, continuer };
}

/** Returns `undefined` if nothing observes calls. */
function createOptionalObservation(
  { telemetry, logCalls }: GatewayOptions,
  logger: Logger,
  now: () => number,
): CallObservation | undefined {
  if (telemetry === undefined && logCalls !== true) return undefined;
  const telemetries = telemetry === undefined ? [] : [telemetry];
  if (logCalls === true) {
    // With the fields that the other telemetry adds.
    const write: NonNullable<Logger["info"]> = (fields, message) =>
      observation.logger.info?.(fields, message);
    telemetries.push(createCallLog(write, now));
  }
  const observation = createObservation(telemetries, logger);
  return observation;
}

function createWorker(
  { holds, track, logger }: PermanentParts,
  { store, concurrency, keepMs }: PermanentTasks,
  loadParts: () => Promise<GatewayParts>,
): TaskWorker {
  return createTaskWorker({ store, holds, concurrency, keepMs, loadParts, track, logger });
}

/** The parts that do not depend on options that can be reloaded. */
interface PermanentParts extends Omit<PipelineParts & ModelsParts, keyof Configuration> {
  readonly repeat: Repeat;
  readonly ledger: Ledger;
  /** `undefined` if the ledger does not count by period. */
  readonly budgetStore: BudgetStore | undefined;
  readonly alerts: AlertDelivery;
  /** What a request costs if its outcome will never be known. */
  readonly onLost: LostPolicy;
  /** `undefined` without the option `results`. */
  readonly results: Results | undefined;
  readonly sweeper: Sweeper | undefined;
  readonly tasks: PermanentTasks | undefined;
  readonly sweepTasks: SweepTasks | undefined;
  /** Both are `undefined` if the ledger keeps no callers. */
  readonly callerStore: CallerStore | undefined;
  readonly storedCallers: StoredCallers | undefined;
  readonly refusals: RefusalRecorder;
}

/** The parts that are created before the others. */
interface LastingParts
  extends Pick<PermanentParts, "ledger" | "logger" | "observation" | "callerStore" | "storedCallers"> {
  /** Keeps `gateway.close()` waiting until the work is done. */
  readonly track: PipelineParts["track"];
  readonly findEndpoints: AlertWebhooksParts["endpoints"];
}

interface PermanentTasks extends Tasks {
  /** How many tasks this process runs at the same time. */
  readonly concurrency: number;
}

/** How many streams are read to their end after the client has disconnected, and for how long. Beyond that, what came is charged. */
const BACKGROUND_READS = { streams: 1_000, ms: 900_000 };

function createPermanentParts(
  options: GatewayOptions,
  dependencies: Partial<Dependencies> & Pick<Dependencies, "now">,
  lasting: LastingParts,
): PermanentParts {
  const { now, repeat = repeatByTimer } = dependencies;
  const { ledger, logger, track, findEndpoints } = lasting;
  const refusals = createRefusals({ ledger, logger, now, repeat });
  const budgetStore = findBudgetStore(ledger);
  const onLost = options.billing?.onLost ?? "release";
  const admission = options.admission ?? createMemoryAdmissionStore({ now });
  const budget = createByteBudget({
    maxBytes: options.maxBytesInFlight ?? DEFAULT_MAX_BYTES_IN_FLIGHT,
    maxCallerShare: options.maxCallerShare ?? DEFAULT_MAX_CALLER_SHARE,
    now,
  });
  const spool = createSpool({
    memoryBytes: toSpoolBytes(options.uploadMemoryBytes ?? DEFAULT_UPLOAD_MEMORY_BYTES),
    openFile: openTemporaryFile,
  });
  const random = dependencies.random ?? Math.random;
  const { basePath = "", afterImage } = options;
  const results = options.results && createResults(options.results, { now, basePath, afterImage });
  const tasks = createTasks(options, ledger, results?.objects);
  const shareCooldown = async (id: string, cooldown: Cooldown | undefined): Promise<void> => {
    try {
      await admission.setCooldown(id, cooldown);
    } catch (error) {
      logger.warn({ err: error }, "The admission store failed; a cooldown is known to this process only.");
    }
  };
  const transport =
    dependencies.transport ?? (options.fetch ? createFetchTransport(options.fetch) : createTransport());
  const alertWebhooks =
    options.webhooks && createAlertWebhooks({ endpoints: findEndpoints, transport, now, logger });
  return {
    ...lasting,
    now,
    refusals,
    refused: refusals.add,
    admission,
    events: createEvents(options, logger),
    delivery: createRecordDelivery({ ledger, send: options.onUsage, logger }),
    budgetStore,
    alerts: createAlertDelivery({
      store: budgetStore,
      send: options.onBudget,
      webhooks: alertWebhooks,
      logger,
    }),
    holds: createHolds({ ledger, logger, onLost, now }),
    onLost,
    takeSlot: createSlots(budget, spool),
    limits: options.limits,
    showPrices: options.showPrices ?? false,
    showCharge: options.showCharge ?? false,
    idempotency: {
      seconds: options.idempotency?.seconds ?? DEFAULT_IDEMPOTENCY.seconds,
      maxResponseBytes: options.idempotency?.maxResponseBytes ?? DEFAULT_IDEMPOTENCY.maxResponseBytes,
    },
    preferences: {
      responseFormat: options.responseFormat,
      streamFormat: options.streamFormat,
      sizes: options.sizes,
    },
    bodyLimits: {
      json: options.bodyLimits?.json ?? DEFAULT_BODY_LIMITS.json,
      form: options.bodyLimits?.form ?? DEFAULT_BODY_LIMITS.form,
      file: options.bodyLimits?.file ?? DEFAULT_BODY_LIMITS.file,
      minBytesPerSecond: options.bodyLimits?.minBytesPerSecond ?? DEFAULT_BODY_LIMITS.minBytesPerSecond,
      slowAfterSeconds: options.bodyLimits?.slowAfterSeconds ?? DEFAULT_BODY_LIMITS.slowAfterSeconds,
    },
    repeat,
    everySecond: createEverySecond(repeat),
    beforeSend: options.beforeSend,
    images: results,
    maxHeldImageBytes: dependencies.maxHeldImageBytes ?? MAX_HELD_IMAGE_BYTES,
    heartbeatMs: options.heartbeatSeconds && options.heartbeatSeconds * 1000,
    backgroundReads: createBackgroundReads(BACKGROUND_READS),
    maxResponseBytes: options.maxUpstreamResponseBytes ?? DEFAULT_MAX_UPSTREAM_RESPONSE_BYTES,
    pauses: createPauses({ admission, now, logger }),
    history: createAttemptHistory(now),
    health: createChannelHealth(
      now,
      DEFAULT_HEALTH_POLICY,
      (id, cooldown) => void shareCooldown(id, cooldown),
    ),
    readerLimit: createReaderLimit(
      (options.responseIdleSeconds ?? DEFAULT_RESPONSE_IDLE_SECONDS) * 1000,
      logger,
    ),
    retryBudgets: createRetryBudgets(now, dependencies.retryBudget ?? DEFAULT_RETRY_BUDGET),
    random,
    sleep: dependencies.sleep ?? sleepByTimer,
    results,
    tasks,
    sweepTasks: tasks && createTaskSweep({ ...tasks, onLost, logger, track }),
    sweeper: results?.sweep && createSweeper(results.sweep, { now, random, logger }),
    createId: dependencies.createId ?? createRequestId,
    transport,
  };
}

function createTasks(
  { tasks = {}, basePath = "" }: GatewayOptions,
  ledger: Ledger,
  objects: Tasks["objects"],
): PermanentTasks | undefined {
  const store = findTaskStore(ledger);
  if (store === undefined) return undefined;
  const {
    concurrency = DEFAULT_TASKS.concurrency,
    expiresAfterSeconds = DEFAULT_TASKS.expiresAfterSeconds,
    keepSeconds = DEFAULT_TASKS.keepSeconds,
    maxOpen = DEFAULT_TASKS.maxOpen,
    maxOpenBytes = DEFAULT_TASKS.maxOpenBytes,
  } = tasks;
  return {
    store,
    objects,
    concurrency,
    ttlMs: expiresAfterSeconds * 1000,
    keepMs: keepSeconds * 1000,
    room: { tasks: maxOpen, bytes: maxOpenBytes },
    findBasePath: (request, endpoint) => findPathBefore(request, endpoint, basePath),
  };
}
