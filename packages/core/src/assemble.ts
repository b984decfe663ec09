import { openTemporaryFile } from "#temporary-file";
import { createTransport } from "#transport";
import { createByteBudget } from "./admission/byte-budget.js";
import { createMemoryAdmissionStore } from "./admission/memory-store.js";
import { createSlots } from "./admission/slot.js";
import { createAuthenticator, findByHash, findByOperator } from "./auth/authenticate.js";
import { createDelivery } from "./billing/delivery.js";
import { createHolds } from "./billing/hold.js";
import type { Ledger, LostPolicy } from "./billing/ledger.js";
import { createMemoryLedger } from "./billing/memory-ledger.js";
import { createPriceList } from "./billing/pricing.js";
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
import { createEvents } from "./events.js";
import { createSpool, toSpoolBytes } from "./images/spool.js";
import { createMaintenance, createUnderWay, type Maintenance, type UnderWay } from "./lifecycle.js";
import { consoleLogger, createSafeLogger } from "./logger.js";
import { createModelResolver, type ModelTables } from "./models/resolve-model.js";
import { checkFixedOptions, checkOptions } from "./options/check-options.js";
import { type LoadedOptions, loadOptions } from "./options/load-options.js";
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
import { createKeyMask, createSecretMask } from "./redact.js";
import { createReaderLimit } from "./responses/reader-limit.js";
import { createBackgroundReads } from "./responses/relay.js";
import { createByteMask } from "./upstream/mask-bytes.js";
import { maskTransport } from "./upstream/mask-transport.js";
import type { Transport } from "./upstream/transport.js";
import { createFetchTransport } from "./upstream/transport-fetch.js";
import { createRequestId } from "./util/request-id.js";
import { type Repeat, repeatByTimer } from "./util/timers.js";

/** The parts of a gateway, joined. */
export interface Wiring {
  /** What it keeps for its life. */
  readonly lasting: LastingParts;
  /** What is made of the options, which may be read anew. */
  readonly wired: Reloadable<PipelineParts & Configuration>;
  readonly underWay: UnderWay;
  readonly maintenance: Maintenance;
}

/**
 * Checks the options and joins the parts.
 *
 * @throws GatewayOptionsError for what is wrong with options that are there at once
 */
export function wireGateway(options: GatewayOptions, dependencies: Partial<Dependencies>): Wiring {
  const now = dependencies.now ?? Date.now;
  const first = configureFirst(options, now);
  const underWay = createUnderWay();
  const lasting = createLastingParts(options, dependencies, (work) => underWay.track(work));
  const wire = (configuration: Configuration): PipelineParts & Configuration => ({
    ...lasting,
    ...configuration,
    transport: configuration.maskTransport(lasting.transport),
  });
  const wired = createReloadable(
    first instanceof Promise ? first.then(wire) : wire(first),
    async () => wire(configure(await loadOptions(options), now)),
    ({ channels, models }) => {
      lasting.health.retain(healthIdsOf(channels));
      lasting.retryBudgets.retain(Object.keys(models));
    },
  );
  return { lasting, wired, underWay, maintenance: createMaintenance(lasting, dependencies.repeat) };
}

function configureFirst(options: GatewayOptions, now: () => number): Configuration | Promise<Configuration> {
  const loaded = loadOptions(options);
  if (!(loaded instanceof Promise)) return configure(loaded, now);
  // Where the check throws, nobody reads them.
  loaded.catch(() => undefined);
  checkFixedOptions(options);
  return loaded.then((read) => configure(read, now));
}

/** What a gateway keeps for its life, whatever of its options is read anew. */
interface LastingParts extends Omit<PipelineParts, keyof Configuration> {
  readonly ledger: Ledger;
  /** What a request costs if its outcome will never be known. */
  readonly onLost: LostPolicy;
}

/** Streams that are read on after their clients left. */
const BACKGROUND_READS = { streams: 1_000, ms: 900_000 };

/** @param track holds `gateway.close()` until the work is done */
function createLastingParts(
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
    memoryBytes: toSpoolBytes(options.uploadMemoryBytes ?? DEFAULT_UPLOAD_MEMORY_BYTES),
    openFile: openTemporaryFile,
  });
  const tellFleet = async (
    id: string,
    cooldown: Parameters<typeof admission.setCooldown>[1],
  ): Promise<void> => {
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

/** What is made of the options that may change while the gateway runs. */
interface Configuration
  extends Pick<PipelineParts, "authenticate" | "resolveModel" | "prices" | "mask" | "maskKeys"> {
  /** In the order of the options. */
  readonly channels: readonly Channel[];
  readonly models: LoadedOptions["models"];
  /** The transport that masks the channels' secrets in responses. */
  readonly maskTransport: (transport: Transport) => Transport;
}

/**
 * A configuration from options as they were read.
 *
 * @throws GatewayOptionsError with every problem and its path
 */
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
  const rules = { hasBilling: options.billing !== undefined };
  return {
    channels,
    models: options.models,
    authenticate: createAuthenticator(
      authenticate ? findByOperator(authenticate, rules) : findByHash(callers),
      now,
    ),
    resolveModel: createModelResolver(toModelTables(options), families, channels),
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

function mappedNames({ modelMapping = {} }: ChannelOptions): readonly string[] {
  return Object.keys(modelMapping);
}

/** Time, chance and transport, for tests that need them fixed. */
export interface Dependencies {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly createId: () => string;
  readonly transport: Transport;
  /** Calls `work` every so many milliseconds, until what it returned is called. */
  readonly repeat: Repeat;
  /** How much is sent again, for a simulation of what it prevents. */
  readonly retryBudget: RetryBudgetPolicy;
}

/** A value that can be made anew while it is in use. */
export interface Reloadable<T> {
  /** `undefined` until it was made for the first time. */
  readonly current: T | undefined;
  /** The value; made now where no making has succeeded. */
  get(): Promise<T>;
  /** Makes it anew. Where that fails the value stays; of several at once the last one counts. */
  reload(): Promise<void>;
}

/**
 * @param first the value, or its first making, which may fail
 * @param onTaken called with each value that is in use from now on, the first included
 */
export function createReloadable<T>(
  first: T | Promise<T>,
  make: () => Promise<T>,
  onTaken: (value: T) => void = () => {},
): Reloadable<T> {
  let current: T | undefined;
  let making: Promise<T> | undefined;
  let makings = 0;
  let taken = 0;

  const take = async (made: Promise<T>): Promise<T> => {
    const number = ++makings;
    const value = await made;
    if (number > taken) {
      taken = number;
      current = value;
      onTaken(value);
    }
    return value;
  };

  const begin = (made: Promise<T>): Promise<T> => {
    const own = take(made).finally(() => {
      if (making === own) making = undefined;
    });
    making = own;
    // Whoever asks for the value is told.
    own.catch(() => undefined);
    return own;
  };

  if (first instanceof Promise) void begin(first);
  else {
    current = first;
    onTaken(first);
  }

  return {
    get current() {
      return current;
    },
    async get() {
      return current ?? (await (making ?? begin(make())));
    },
    async reload() {
      await begin(make());
    },
  };
}
