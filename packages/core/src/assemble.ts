import { openTemporaryFile } from "#temporary-file";
import { createTransport } from "#transport";
import { createByteBudget } from "./admission/byte-budget.js";
import { createMemoryAdmissionStore } from "./admission/memory-store.js";
import { createSlots } from "./admission/slot.js";
import { createAuthenticator, findByHash, findByOperator } from "./auth/authenticate.js";
import { createDelivery } from "./billing/delivery.js";
import { createHolds } from "./billing/hold.js";
import type { Ledger } from "./billing/ledger.js";
import { createMemoryLedger } from "./billing/memory-ledger.js";
import { createPriceList } from "./billing/pricing.js";
import type { LostPolicy } from "./billing/records.js";
import {
  type Channel,
  type ChannelOptions,
  createChannel,
  healthIdsOf,
  secretsOf,
} from "./channels/channel.js";
import { createChannelHealth } from "./channels/health.js";
import { DEFAULT_HEALTH_POLICY } from "./channels/health-record.js";
import { createRetryBudgets, DEFAULT_RETRY_BUDGET, type RetryBudgetPolicy } from "./channels/retry-budget.js";
import { createEvents, createRequestId } from "./events.js";
import { createSpool, toSpoolBytes } from "./images/spool.js";
import { createMaintenance, createTracker, type Maintenance, type Tracker } from "./lifecycle.js";
import { consoleLogger, createSafeLogger } from "./logger.js";
import { listModels, type ModelNameSources } from "./models/list-models.js";
import {
  type CapabilityTable,
  createCapabilityTable,
  createModelResolver,
  type ModelTables,
  mayUseModel,
} from "./models/resolve-model.js";
import { describeModels, type ModelsParts } from "./models-endpoint.js";
import { type LoadedOptions, loadOptions } from "./options/load.js";
import {
  DEFAULT_BODY_LIMITS,
  DEFAULT_IDEMPOTENCY,
  DEFAULT_MAX_BYTES_IN_FLIGHT,
  DEFAULT_MAX_CALLER_SHARE,
  DEFAULT_MAX_UPSTREAM_RESPONSE_BYTES,
  DEFAULT_RESPONSE_IDLE_SECONDS,
  DEFAULT_UPLOAD_MEMORY_BYTES,
  type GatewayOptions,
} from "./options/options.js";
import { checkFixedOptions, checkOptions } from "./options/validate.js";
import type { PipelineParts } from "./pipeline.js";
import { createKeyMask, createSecretMask } from "./redact.js";
import { createReaderLimit } from "./responses/reader-limit.js";
import { createBackgroundReads } from "./responses/relay.js";
import { createResults } from "./results/results.js";
import { createSweeper, type Sweeper } from "./results/sweeper.js";
import type { Cooldown } from "./types.js";
import { createByteMask } from "./upstream/mask-bytes.js";
import { maskTransport } from "./upstream/mask-transport.js";
import type { Transport } from "./upstream/transport.js";
import { createFetchTransport } from "./upstream/transport-fetch.js";
import { type Repeat, repeatByTimer } from "./util/async.js";

/** The parts of a gateway. */
export interface GatewayAssembly {
  /** The parts that stay when options are reloaded. */
  readonly permanent: PermanentParts;
  /** All parts of the pipeline, with the current options. */
  readonly reloadable: Reloadable<GatewayParts>;
  readonly tracker: Tracker;
  readonly maintenance: Maintenance;
}

/** What requests of all kinds need. */
export type GatewayParts = PipelineParts & ModelsParts & Configuration;

/** Time, randomness and transport, which tests replace. */
export interface Dependencies {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly createId: () => string;
  readonly transport: Transport;
  /** Repeats work at an interval. */
  readonly repeat: Repeat;
  readonly retryBudget: RetryBudgetPolicy;
}

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
  const first = configureFirst(options, now);
  const tracker = createTracker();
  const permanent = createPermanentParts(options, dependencies, (work) => tracker.track(work));
  const combine = (configuration: Configuration): GatewayParts => ({
    ...permanent,
    ...configuration,
    transport: configuration.maskTransport(permanent.transport),
  });
  const reloadable = createReloadable(
    first instanceof Promise ? first.then(combine) : combine(first),
    async () => combine(configure(await loadOptions(options), now)),
    ({ channels, models }) => {
      permanent.health.retain(healthIdsOf(channels));
      permanent.retryBudgets.retain(Object.keys(models));
    },
  );
  return { permanent, reloadable, tracker, maintenance: createMaintenance(permanent, dependencies.repeat) };
}

function configureFirst(options: GatewayOptions, now: () => number): Configuration | Promise<Configuration> {
  const loaded = loadOptions(options);
  if (!(loaded instanceof Promise)) return configure(loaded, now);
  // If the check below throws, no one waits for the loaded options.
  loaded.catch(() => undefined);
  checkFixedOptions(options);
  return loaded.then((result) => configure(result, now));
}

/** The parts that do not depend on options that can be reloaded. */
interface PermanentParts extends Omit<PipelineParts & ModelsParts, keyof Configuration> {
  readonly ledger: Ledger;
  /** What a request costs if its outcome will never be known. */
  readonly onLost: LostPolicy;
  readonly sweeper: Sweeper | undefined;
}

/** How many streams are read to their end after the client has disconnected, and for how long. */
const BACKGROUND_READS = { streams: 1_000, ms: 900_000 };

/** @param track keeps `gateway.close()` waiting until the work is done */
function createPermanentParts(
  options: GatewayOptions,
  dependencies: Partial<Dependencies>,
  track: PipelineParts["track"],
): PermanentParts {
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
    memoryBytes: toSpoolBytes(options.uploadMemoryBytes ?? DEFAULT_UPLOAD_MEMORY_BYTES),
    openFile: openTemporaryFile,
  });
  const random = dependencies.random ?? Math.random;
  const results =
    options.results && createResults(options.results, { now, basePath: options.basePath ?? "" });
  const shareCooldown = async (id: string, cooldown: Cooldown | undefined): Promise<void> => {
    try {
      await admission.setCooldown(id, cooldown);
    } catch (error) {
      logger.warn({ err: error }, "The admission store failed; a cooldown is known to this process only.");
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
    takeSlot: createSlots(budget, spool),
    limits: options.limits,
    showPrices: options.showPrices ?? false,
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
    repeat: dependencies.repeat ?? repeatByTimer,
    beforeSend: options.beforeSend,
    afterImage: options.afterImage,
    heartbeatMs: options.heartbeatSeconds && options.heartbeatSeconds * 1000,
    backgroundReads: createBackgroundReads(BACKGROUND_READS),
    maxResponseBytes: options.maxUpstreamResponseBytes ?? DEFAULT_MAX_UPSTREAM_RESPONSE_BYTES,
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
    results,
    sweeper: results?.sweep && createSweeper(results.sweep, { now, random, logger }),
    createId: dependencies.createId ?? createRequestId,
    transport:
      dependencies.transport ?? (options.fetch ? createFetchTransport(options.fetch) : createTransport()),
  };
}

/** The parts that depend on options that can be reloaded. */
interface Configuration
  extends Pick<PipelineParts, "authenticate" | "resolveModel" | "prices" | "mask" | "maskKeys">,
    Pick<ModelsParts, "listModels" | "mayUseModel"> {
  /** In the order of the options. */
  readonly channels: readonly Channel[];
  readonly models: LoadedOptions["models"];
  readonly capabilities: CapabilityTable;
  /** The transport that masks the channels' secrets in responses. */
  readonly maskTransport: (transport: Transport) => Transport;
}

/** @throws GatewayOptionsError with every problem and its path */
function configure(options: LoadedOptions, now: () => number): Configuration {
  const families = checkOptions(options);
  const channels = options.channels.flatMap((channel) => {
    const family = families.get(channel.family);
    return family === undefined ? [] : [createChannel(channel, family)];
  });
  const { authenticate, callers = [] } = options;
  const secrets = [...new Set(channels.flatMap(secretsOf))];
  const maskKeys = createKeyMask(secrets);
  const masks = { maskKeys, bytes: createByteMask(secrets) };
  const capabilities = createCapabilityTable(options.capabilities);
  const rules = { hasBilling: options.billing !== undefined };
  const resolveModel = createModelResolver({ ...toModelTables(options), capabilities }, families, channels);
  return {
    channels,
    models: options.models,
    capabilities,
    authenticate: createAuthenticator(
      authenticate ? findByOperator(authenticate, rules) : findByHash(callers),
      now,
    ),
    resolveModel,
    listModels: once(() => describeModels(listModels({ ...toNameSources(options), channels }, resolveModel))),
    mayUseModel: (caller, name) => mayUseModel(caller, name, options.caseInsensitiveNames ?? false),
    prices: options.billing && createPriceList(options.billing),
    mask: createSecretMask(secrets),
    maskKeys,
    maskTransport: (transport) => maskTransport(transport, masks),
  };
}

function toModelTables({ models, billing, channels, caseInsensitiveNames }: LoadedOptions): ModelTables {
  const mapped = caseInsensitiveNames === true ? channels.flatMap((channel) => mappedNames(channel)) : [];
  const otherNames = [...Object.keys(billing?.model_details ?? {}), ...mapped];
  return { models, otherNames, isCaseInsensitive: caseInsensitiveNames };
}

function toNameSources({
  models,
  billing,
  capabilities = {},
}: LoadedOptions): Omit<ModelNameSources, "channels"> {
  return { models, priceNames: Object.keys(billing?.model_details ?? {}), rows: capabilities };
}

/** Calls the function at the first use only. */
function once<T extends object>(compute: () => T): () => T {
  let value: T | undefined;
  return () => (value ??= compute());
}

function mappedNames({ modelMapping = {} }: ChannelOptions): readonly string[] {
  return Object.keys(modelMapping);
}

/** A value that can be loaded again while it is in use. */
export interface Reloadable<T> {
  /** `undefined` until it was loaded for the first time. */
  readonly current: T | undefined;
  /** Returns the value. Loads it if no load has succeeded. */
  get(): Promise<T>;
  /** Loads the value again. If that fails, the old value stays. Of several loads at once the last one begun counts. */
  reload(): Promise<void>;
}

/**
 * @param first the value, or its first load, which may fail
 * @param onChange called with each value that is used from now on, including the first
 */
export function createReloadable<T>(
  first: T | Promise<T>,
  load: () => Promise<T>,
  onChange: (value: T) => void = () => {},
): Reloadable<T> {
  let current: T | undefined;
  let loading: Promise<T> | undefined;
  let lastBegun = 0;
  let lastUsed = 0;

  const use = async (loaded: Promise<T>): Promise<T> => {
    const number = ++lastBegun;
    const value = await loaded;
    if (number > lastUsed) {
      lastUsed = number;
      current = value;
      onChange(value);
    }
    return value;
  };

  const begin = (loaded: Promise<T>): Promise<T> => {
    const own = use(loaded).finally(() => {
      if (loading === own) loading = undefined;
    });
    loading = own;
    // An error goes to those who wait for the value, and there may be none.
    own.catch(() => undefined);
    return own;
  };

  if (first instanceof Promise) void begin(first);
  else {
    current = first;
    onChange(first);
  }

  return {
    get current() {
      return current;
    },
    get: async () => current ?? (await (loading ?? begin(load()))),
    async reload() {
      await begin(load());
    },
  };
}
