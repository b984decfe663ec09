import { createRefusals } from "#refusals";
import type { MinimalLedger } from "./billing/ledger.js";
import { findAbility } from "./billing/ledger-ability.js";
import type { LostPolicy } from "./billing/records.js";
import { healthIdsOf } from "./channels/channel.js";
import { type Configuration, type ConfigurationContext, configure, configureFirst } from "./configuration.js";
import type { Chore } from "./contract/chore.js";
import type { CallObservation } from "./contract/observer.js";
import { BUDGET_STORE, type BudgetStore } from "./features/budgets/budget-store.js";
import { CALLER_STORE, type CallerStore } from "./features/callers/caller-store.js";
import { createStoredCallers, type StoredCallers } from "./features/callers/stored-callers.js";
import { type ChannelPauses, createPauses } from "./features/channel-control/pauses.js";
import {
  type CallContinuer,
  createCallContinuer,
  createJobStorage,
} from "./features/continued-calls/continue-calls.js";
import { createAdmission } from "./features/limits/admission.js";
import { createCooldownSharing } from "./features/limits/cooldown-sharing.js";
import { createMemoryAdmissionStore } from "./features/limits/memory-store.js";
import { createOwnCrowdedError } from "./features/limits/rate-limit-headers.js";
import type { AdmissionStore } from "./features/limits/store.js";
import { createMemoryLedger } from "./features/memory-ledger/memory-ledger.js";
import type { ModelsParts } from "./features/models-list/models-endpoint.js";
import type { RefusalRecorder } from "./features/refusals/refusals.js";
import { createResults, type Results } from "./features/results/results.js";
import { createSweeper } from "./features/results/sweeper.js";
import { OUTBOX, type Outbox } from "./features/outbox/outbox.js";
import { TASK_STORE } from "./features/task-store/task-store.js";
import { createTaskSubmissions, type Tasks } from "./features/tasks/submit.js";
import { createTaskSweep, type SweepTasks } from "./features/tasks/sweep.js";
import { writeTaskSummary } from "./features/tasks/task-object.js";
import { DEFAULT_TASKS } from "./features/tasks/task-options.js";
import { createTaskWorker, type TaskWorker } from "./features/tasks/worker.js";
import { createCallLog } from "./features/telemetry/call-log.js";
import { createObservation } from "./features/telemetry/observation.js";
import {
  type AlertDelivery,
  type AlertReceivers,
  createAlertDelivery,
} from "./features/webhooks/alert-delivery.js";
import { createWebhooks, type WebhookDelivery } from "./features/webhooks/webhooks.js";
import { loadOptions } from "./gateway-options/load.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { createKernelParts, type Dependencies } from "./kernel/kernel-parts.js";
import { createMaintenance, createTracker, type Maintenance, type Tracker } from "./kernel/lifecycle.js";
import type { PipelineParts } from "./kernel/pipeline.js";
import { createReloadable, type Reloadable } from "./kernel/reloadable.js";
import { consoleLogger, createSafeLogger, type Logger } from "./logger.js";
import { DEFAULTS, withDefaults } from "./options/options.js";
import { findPathBefore } from "./request/route.js";
import type { CallerLimits } from "./types.js";
import type { Repeat } from "./util/async.js";

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
      transport: configuration.redactTransport(permanent.transport),
      submissions: tasks && createTaskSubmissions({ ...parts, tasks }),
      openStoredJobs: createJobStorage(parts),
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
    permanent.alerts,
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
  extends Omit<PipelineParts & ModelsParts, keyof Configuration | "submissions" | "openStoredJobs"> {
  readonly admissionStore: AdmissionStore;
  readonly limits: CallerLimits | undefined;
  readonly pauses: ChannelPauses;
  readonly repeat: Repeat;
  readonly ledger: MinimalLedger;
  /** `undefined` if the ledger does not count by period. */
  readonly budgetStore: BudgetStore | undefined;
  /** `undefined` if the ledger has none. */
  readonly outbox: Outbox | undefined;
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
  readonly findEndpoints: NonNullable<AlertReceivers["endpoints"]>;
}

interface PermanentTasks extends Tasks {
  /** How many tasks this process runs at the same time. */
  readonly concurrency: number;
}

function createPermanentParts(
  options: GatewayOptions,
  dependencies: Partial<Dependencies> & Pick<Dependencies, "now">,
  lasting: LastingParts,
): PermanentParts {
  const { now } = dependencies;
  const { ledger, logger, findEndpoints } = lasting;
  const { basePath = "", afterImage, limits } = options;
  const admissionStore = options.admission ?? createMemoryAdmissionStore({ now });
  const kernel = createKernelParts(options, dependencies, {
    ledger,
    logger,
    shareCooldown: createCooldownSharing(admissionStore, logger),
    createCrowdedError: createOwnCrowdedError,
  });
  const refusals = createRefusals(kernel);
  const budgetStore = findAbility(ledger, BUDGET_STORE);
  const pauses = createPauses(admissionStore, now, logger);
  const results = options.results && createResults(options.results, { now, basePath, afterImage });
  const idempotency = withDefaults(DEFAULTS.idempotency, options.idempotency);
  const outbox = findAbility(ledger, OUTBOX);
  return {
    ...lasting,
    ...kernel,
    refusals,
    refused: refusals.add,
    admissionStore,
    admission: createAdmission({ ...kernel, admissionStore, pauses, limits, idempotency }),
    budgetStore,
    outbox,
    alerts: createAlertDelivery({
      outbox,
      onBudget: options.onBudget,
      endpoints: options.webhooks && findEndpoints,
      logger,
    }),
    limits,
    showPrices: options.showPrices ?? false,
    images: results,
    pauses,
    results,
    tasks: createTasks(options, ledger, results?.objects),
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
