import { createRefusals } from "#refusals";
import { openTemporaryFile } from "#temporary-file";
import { createTransport } from "#transport";
import { createByteBudget } from "./admission/byte-budget.js";
import { createSlots } from "./admission/slot.js";
import { type AlertDelivery, createRecordDelivery } from "./billing/delivery.js";
import { createHolds } from "./billing/hold.js";
import type { MinimalLedger } from "./billing/ledger.js";
import { findAbility } from "./billing/ledger-ability.js";
import type { LostPolicy } from "./billing/records.js";
import { createAttemptHistory } from "./channels/attempt-history.js";
import { healthIdsOf } from "./channels/channel.js";
import { createChannelHealth } from "./channels/health.js";
import { DEFAULT_HEALTH_POLICY } from "./channels/health-record.js";
import { createRetryBudgets, DEFAULT_RETRY_BUDGET, type RetryBudgetPolicy } from "./channels/retry-budget.js";
import { type Configuration, type ConfigurationContext, configure, configureFirst } from "./configuration.js";
import type { Chore } from "./contract/chore.js";
import type { CallObservation } from "./contract/observer.js";
import { createEvents, createRequestId } from "./events.js";
import { createAlertDelivery } from "./features/budgets/alert-delivery.js";
import { BUDGET_STORE, type BudgetStore } from "./features/budgets/budget-store.js";
import { CALLER_STORE, type CallerStore } from "./features/callers/caller-store.js";
import { createStoredCallers, type StoredCallers } from "./features/callers/stored-callers.js";
import { type ChannelPauses, createPauses } from "./features/channel-control/pauses.js";
import {
  type CallContinuer,
  createCallContinuer,
  createCallKeeper,
} from "./features/continued-calls/continue-calls.js";
import { createAdmission } from "./features/limits/admit.js";
import { createMemoryAdmissionStore } from "./features/limits/memory-store.js";
import { createOwnCrowdedError } from "./features/limits/rate-limit-headers.js";
import type { AdmissionStore } from "./features/limits/store.js";
import { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
import type { ModelsParts } from "./features/models-list/models-endpoint.js";
import type { RefusalRecorder } from "./features/refusals/refusals.js";
import { createResults, type Results } from "./features/results/results.js";
import { createSweeper } from "./features/results/sweeper.js";
import { TASK_STORE } from "./features/task-store/task-store.js";
import { createTaskSubmissions, type Tasks } from "./features/tasks/submit.js";
import { createTaskSweep, type SweepTasks } from "./features/tasks/sweep.js";
import { writeTaskSummary } from "./features/tasks/task-object.js";
import { DEFAULT_TASKS } from "./features/tasks/task-options.js";
import { createTaskWorker, type TaskWorker } from "./features/tasks/worker.js";
import { createCallLog } from "./features/telemetry/call-log.js";
import { createObservation } from "./features/telemetry/observation.js";
import { type AlertWebhooksParts, createAlertWebhooks } from "./features/webhooks/budget-alerts.js";
import { createWebhooks, type WebhookDelivery } from "./features/webhooks/webhooks.js";
import { loadOptions } from "./gateway-options/load.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { createSpool, toSpoolBytes } from "./images/spool.js";
import { createMaintenance, createTracker, type Maintenance, type Tracker } from "./kernel/lifecycle.js";
import type { PipelineParts } from "./kernel/pipeline.js";
import { createReloadable, type Reloadable } from "./kernel/reloadable.js";
import { consoleLogger, createSafeLogger, type Logger } from "./logger.js";
import { DEFAULTS, withDefaults } from "./options/options.js";
import { findPathBefore } from "./request/route.js";
import { createReaderLimit } from "./responses/reader-limit.js";
import { createBackgroundReads } from "./responses/relay.js";
import type { CallerLimits, Cooldown } from "./types.js";
import type { Transport } from "./upstream/transport.js";
import { createFetchTransport } from "./upstream/transport-fetch.js";
import { callStore, createEverySecond, type Repeat, repeatByTimer, sleepByTimer } from "./util/async.js";

/** The parts of a gateway. */
export interface GatewayAssembly {
  /** The parts that stay when options are reloaded. */
  readonly permanent: PermanentParts;
  /** All parts of the pipeline, with the current options. */
  readonly reloadable: Reloadable<GatewayParts>;
  readonly tracker: Tracker;
  readonly maintenance: Maintenance;
  /** The background work of the features, in the order in which it is done. */
  readonly chores: readonly Chore[];
  /** Ends lost tasks. `undefined` if the ledger keeps none, as is `worker`. */
  readonly sweepTasks: SweepTasks | undefined;
  /** Runs tasks. */
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
  const callerStore = findAbility(ledger, CALLER_STORE);
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
  const combine = (configuration: Configuration): GatewayParts => {
    const { tasks } = permanent;
    const parts = { ...permanent, ...configuration };
    return {
      ...parts,
      transport: configuration.maskTransport(permanent.transport),
      submissions: tasks && createTaskSubmissions({ ...parts, tasks }),
      keepCall: createCallKeeper(parts),
    };
  };
  const reloadable = createReloadable(
    first instanceof Promise ? first.then(combine) : combine(first),
    async () => combine(configure(await loadOptions(options), context)),
    ({ channels, models }) => {
      permanent.health.retain(healthIdsOf(channels));
      permanent.history.retain(channels.map(({ id }) => id));
      permanent.retryBudgets.retain(Object.keys(models));
    },
  );
  const { tasks, results, pauses } = permanent;
  const loadParts = (): Promise<GatewayParts> => reloadable.get();
  const worker = tasks && createTaskWorker({ ...permanent, ...tasks, loadParts });
  const sweepTasks = tasks && createTaskSweep({ ...permanent, ...tasks });
  const webhooks = createWebhooks({
    ...permanent,
    tasks: tasks?.store,
    endpoints: () => reloadable.current?.webhookEndpoints,
    writeSummary: writeTaskSummary,
  });
  const continuer = createCallContinuer({ ...permanent, loadParts });
  // With a concurrency of 0 calls are continued by `runTasks` only.
  const takeOver = options.tasks?.concurrency === 0 ? undefined : continuer?.run;
  const chores = [
    results?.sweep && createSweeper(results.sweep, permanent),
    continuer && { takeOver, stop: continuer.stop },
    worker,
    sweepTasks && { sweep: sweepTasks },
    webhooks,
    { begin: () => reloadable.current && pauses.refresh(reloadable.current.channels) },
  ].filter((chore) => chore !== undefined);
  const maintenance = createMaintenance({ ...permanent, chores }, dependencies.repeat);
  return { permanent, reloadable, tracker, maintenance, chores, sweepTasks, worker, webhooks, continuer };
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

/** The parts that do not depend on options that can be reloaded. */
interface PermanentParts
  extends Omit<PipelineParts & ModelsParts, keyof Configuration | "submissions" | "keepCall"> {
  readonly admissionStore: AdmissionStore;
  readonly limits: CallerLimits | undefined;
  readonly pauses: ChannelPauses;
  readonly repeat: Repeat;
  readonly ledger: MinimalLedger;
  /** `undefined` if the ledger does not count by period. */
  readonly budgetStore: BudgetStore | undefined;
  readonly alerts: AlertDelivery;
  /** What a request costs if its outcome will never be known. */
  readonly onLost: LostPolicy;
  /** `undefined` without the option `results`. */
  readonly results: Results | undefined;
  readonly tasks: PermanentTasks | undefined;
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
  const { ledger, logger, findEndpoints } = lasting;
  const refusals = createRefusals({ ledger, logger, now, repeat });
  const budgetStore = findAbility(ledger, BUDGET_STORE);
  const onLost = options.billing?.onLost ?? "release";
  const admissionStore = options.admission ?? createMemoryAdmissionStore({ now });
  const pauses = createPauses(admissionStore, now, logger);
  const { limits } = options;
  const budget = createByteBudget({
    maxBytes: options.maxBytesInFlight ?? DEFAULTS.maxBytesInFlight,
    maxCallerShare: options.maxCallerShare ?? DEFAULTS.maxCallerShare,
    now,
  });
  const spool = createSpool({
    memoryBytes: toSpoolBytes(options.uploadMemoryBytes ?? DEFAULTS.uploadMemoryBytes),
    openFile: openTemporaryFile,
  });
  const random = dependencies.random ?? Math.random;
  const { basePath = "", afterImage } = options;
  const results = options.results && createResults(options.results, { now, basePath, afterImage });
  const tasks = createTasks(options, ledger, results?.objects);
  const shareCooldown = (id: string, cooldown: Cooldown | undefined): void => {
    callStore(() => admissionStore.setCooldown(id, cooldown)).catch((err: unknown) => {
      logger.warn({ err }, "The admission store failed; a cooldown is known to this process only.");
    });
  };
  const health = createChannelHealth(now, DEFAULT_HEALTH_POLICY, shareCooldown);
  const transport =
    dependencies.transport ?? (options.fetch ? createFetchTransport(options.fetch) : createTransport());
  const alertWebhooks =
    options.webhooks && createAlertWebhooks({ endpoints: findEndpoints, transport, now, logger });
  return {
    ...lasting,
    now,
    refusals,
    refused: refusals.add,
    admissionStore,
    admission: createAdmission({
      logger,
      admissionStore,
      health,
      pauses,
      limits,
      idempotency: withDefaults(DEFAULTS.idempotency, options.idempotency),
    }),
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
    takeSlot: createSlots(budget, spool, createOwnCrowdedError),
    limits,
    showPrices: options.showPrices ?? false,
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
    images: results,
    maxHeldImageBytes: dependencies.maxHeldImageBytes ?? MAX_HELD_IMAGE_BYTES,
    heartbeatMs: options.heartbeatSeconds && options.heartbeatSeconds * 1000,
    backgroundReads: createBackgroundReads(BACKGROUND_READS),
    maxResponseBytes: options.maxUpstreamResponseBytes ?? DEFAULTS.maxUpstreamResponseBytes,
    pauses,
    history: createAttemptHistory(now),
    health,
    readerLimit: createReaderLimit(
      (options.responseIdleSeconds ?? DEFAULTS.responseIdleSeconds) * 1000,
      logger,
    ),
    retryBudgets: createRetryBudgets(now, dependencies.retryBudget ?? DEFAULT_RETRY_BUDGET),
    random,
    sleep: dependencies.sleep ?? sleepByTimer,
    results,
    tasks,
    createId: dependencies.createId ?? createRequestId,
    transport,
  };
}

function createTasks(
  { tasks, basePath = "" }: GatewayOptions,
  ledger: MinimalLedger,
  objects: Tasks["objects"],
): PermanentTasks | undefined {
  const store = findAbility(ledger, TASK_STORE);
  if (store === undefined) return undefined;
  const set = withDefaults(DEFAULT_TASKS, tasks);
  return {
    store,
    objects,
    concurrency: set.concurrency,
    ttlMs: set.expiresAfterSeconds * 1000,
    keepMs: set.keepSeconds * 1000,
    room: { tasks: set.maxOpen, bytes: set.maxOpenBytes },
    findBasePath: (request, endpoint) => findPathBefore(request, endpoint, basePath),
  };
}
