import { consoleLogger, createMemoryAdmissionStore, GatewayError, type Logger } from "@calotype/core";
import type {
  AdmissionDecision,
  AdmissionRequest,
  AdmissionStore,
  IdempotencyOutcome,
  Turn,
  TurnStore,
} from "@calotype/core/stores";
import { AwayError, createAvailability } from "./availability.js";
import { createRunScript } from "./client.js";
import { type Commands, createCommands, needsState, UnreadableError } from "./commands.js";
import { createKeyNames } from "./keys.js";
import {
  type AwayPolicies,
  type AwayPolicy,
  checkOptions,
  type RedisAdmissionStoreOptions,
} from "./options.js";
import { createPendingWrites } from "./pending-writes.js";
import { createLeaseRenewal, type RunningRequest } from "./renew-leases.js";
import { findState } from "./values.js";

/** More than the 256 KiB that a gateway stores of a body, because headers and the escapes of JSON are added. */
const DEFAULT_MAX_RESPONSE_BYTES = 320 * 1024;
const DEFAULT_DEADLINE_SECONDS = 1;
const DEFAULT_LEASE_SECONDS = 120;

/**
 * Creates a store of limits, idempotency keys, cooldowns and pauses that several gateways share, on Redis 6.2 or newer and by
 * its clock. A request needs one round trip before it is sent, and at most one when it is over.
 *
 * @throws TypeError or RangeError for a wrong option
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 * import { createRedisAdmissionStore } from "@calotype/redis";
 * import { Redis } from "ioredis";
 *
 * const client = new Redis("redis://127.0.0.1:6379");
 * client.on("error", (error) => console.error(error.message));
 * const gateway = createGateway({
 *   models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *   channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *   limits: { requestsPerMinute: 60, concurrent: 8 },
 *   admission: createRedisAdmissionStore({ client }),
 * });
 * ```
 */
export function createRedisAdmissionStore(options: RedisAdmissionStoreOptions): AdmissionStore & TurnStore {
  checkOptions(options);
  const { client, prefix = "calotype:", whenAway = "closed", logger = consoleLogger } = options;
  const { maxResponseBytes = DEFAULT_MAX_RESPONSE_BYTES } = options;
  const leaseMs = 1_000 * (options.leaseSeconds ?? DEFAULT_LEASE_SECONDS);
  const deadlineMs = 1_000 * (options.deadlineSeconds ?? DEFAULT_DEADLINE_SECONDS);
  const keys = createKeyNames(prefix);
  const commands = createCommands({ run: createRunScript(client), keys, maxResponseBytes, leaseMs });
  return createResilientStore(commands, { deadlineMs, leaseMs, whenAway, warn: toSafeWarn(logger) });
}

/** A logger that throws must not fail a request, or end the process from a timer. */
function toSafeWarn(logger: Logger): Logger["warn"] {
  return (fields, message) => {
    try {
      logger.warn(fields, message);
    } catch {
      // There is no other place to report it.
    }
  };
}

interface ResilienceOptions {
  readonly deadlineMs: number;
  /** How long Redis keeps a lease that is not renewed. */
  readonly leaseMs: number;
  readonly whenAway: AwayPolicy | AwayPolicies;
  /** Must not throw. */
  readonly warn: Logger["warn"];
}

const PENDING_WRITES = { maxWrites: 10_000, maxBytes: 64 * 1024 * 1024 };
const RETRY_AFTER_SECONDS = 5;
const FORGET: IdempotencyOutcome = { kind: "forget" };

/**
 * Creates a store that works while Redis is away. The policy decides whether requests are refused or counted in this
 * process. When Redis is back, it gets the outcomes of the requests that ended in the meantime.
 */
function createResilientStore(commands: Commands, options: ResilienceOptions): AdmissionStore & TurnStore {
  const { deadlineMs, leaseMs, whenAway, warn } = options;
  const localStore = createMemoryAdmissionStore();
  /** Ids of running requests that the local store has admitted. */
  const admittedLocally = new Set<string>();
  const pending = createPendingWrites({
    ...PENDING_WRITES,
    onFailure: (err) => warn({ err }, "Redis did not accept a delayed write."),
  });
  const availability = createAvailability({
    deadlineMs,
    onLost: (err) => warn({ err }, "Redis is away; whenAway decides what happens to requests."),
    onBack: (awayMs) => {
      warn({ awayMs, forgottenWrites: pending.takeDropped() }, "Redis is back.");
      renewal.renewAll();
      void pending.deliver();
    },
  });

  /** Makes a write when Redis is back. Redis may be back before the failed call has ended; then the write is made now. */
  const writeLater = (name: string, write: () => Promise<void>, bytes?: number): void => {
    const tryWrite = async (): Promise<void> => {
      try {
        await write();
      } catch (error) {
        if (!(error instanceof AwayError)) throw error;
        if (!pending.has(name)) writeLater(name, write, bytes);
      }
    };
    pending.add(name, tryWrite, bytes);
    if (!availability.isAway) void pending.deliver();
  };
  const finishInRedis = (request: AdmissionRequest, outcome: IdempotencyOutcome): Promise<void> =>
    availability.call({
      send: () => commands.finish(request, outcome),
      probe: () => commands.probe(request.caller),
    });
  const finishLater = (request: AdmissionRequest, outcome: IdempotencyOutcome): void => {
    if (request.concurrency.length === 0 && request.idempotency === undefined) return;
    // JavaScript engines use at most two bytes for each character.
    const bytes = outcome.kind === "keep" ? 2 * outcome.response.body.length : 0;
    writeLater(`finish ${request.id}`, () => finishInRedis(request, outcome), bytes);
  };
  /** Releases what a request has taken in Redis, unless the request runs: its own end will release it. */
  const releaseLater = (request: AdmissionRequest): void => {
    if (admittedLocally.has(request.id) || pending.has(`finish ${request.id}`)) return;
    finishLater(request, FORGET);
  };
  const renewal = createLeaseRenewal({
    leaseMs,
    renew: (caller, batch) =>
      availability.call({ send: () => renewInRedis(caller, batch), probe: () => commands.probe(caller) }),
  });
  const renewInRedis = async (caller: string, batch: readonly RunningRequest[]): Promise<void> => {
    try {
      await commands.renew(caller, batch);
    } finally {
      // A client with several connections may have sent the end of a request before this renewal.
      for (const { request } of batch) if (!renewal.isRunning(request)) releaseLater(request);
    }
  };
  const admitLocally = async (
    request: AdmissionRequest,
    cause: unknown,
    turn?: Turn,
  ): Promise<AdmissionDecision> => {
    if (isRefusedAway(whenAway, request)) throw unavailable(cause);
    const decision = await (turn === undefined
      ? localStore.admit(request)
      : localStore.admitInTurn(request, turn));
    if (decision.kind !== "admitted") return decision;
    admittedLocally.add(request.id);
    renewal.begin(request);
    return { ...decision, ...findState(commands.lastState, request, Date.now()) };
  };
  /** Makes a write of the state of a channel, now or when Redis is back. */
  const writeState = async (name: string, send: () => Promise<void>): Promise<void> => {
    // A pending write is older, and must not come after this one.
    pending.delete(name);
    const write = (): Promise<void> => availability.call({ send, probe: () => commands.probe(undefined) });
    try {
      await write();
    } catch (error) {
      if (!(error instanceof AwayError)) throw error;
      writeLater(name, write);
    }
  };

  const admit = async (request: AdmissionRequest, turn?: Turn): Promise<AdmissionDecision> => {
    try {
      const decision = await availability.call({
        send: () => commands.admit(request, turn),
        probe: () => commands.probe(request.caller),
        onLate: ({ kind }) => {
          if (kind === "admitted") releaseLater(request);
        },
      });
      if (decision.kind === "admitted") renewal.begin(request);
      else if (turn !== undefined) keepWaiting(request, decision, turn);
      return decision;
    } catch (error) {
      if (error instanceof UnreadableError) releaseLater(request);
      if (!(error instanceof AwayError)) throw error;
      try {
        return await admitLocally(request, error, turn);
      } finally {
        // The call was sent. Redis may have executed it although no reply came.
        if (error.cause !== undefined) releaseLater(request);
      }
    }
  };
  /** Renews the idempotency key of a request that waits, as that of one that runs. */
  const keepWaiting = (
    request: AdmissionRequest,
    { kind }: AdmissionDecision,
    { leaseMs: ofPlace }: Turn,
  ): void => {
    if (request.idempotency === undefined) return;
    const waits = ofPlace > 0 && (kind === "limited" || kind === "crowded");
    if (!waits) renewal.end(request);
    else if (!renewal.isRunning(request)) renewal.begin({ ...request, concurrency: [] });
  };

  return {
    admit: (request) => admit(request),
    admitInTurn: admit,

    async giveUpTurn(request) {
      renewal.end(request);
      await localStore.giveUpTurn(request);
      try {
        await availability.call({
          send: () => commands.giveUpTurn(request),
          probe: () => commands.probe(request.caller),
        });
      } catch (error) {
        if (!(error instanceof AwayError)) throw error;
        // The place is forgotten when its lease ends.
        finishLater(request, FORGET);
      }
    },

    async finish(request, outcome) {
      renewal.end(request);
      if (admittedLocally.delete(request.id)) await localStore.finish(request, outcome);
      try {
        await finishInRedis(request, outcome);
      } catch (error) {
        if (!(error instanceof AwayError)) throw error;
        finishLater(request, outcome);
      }
    },

    async readCounts(request) {
      try {
        return await availability.call({
          send: () => commands.readCounts(request),
          probe: () => commands.probe(request.caller),
        });
      } catch (error) {
        if (!(error instanceof AwayError)) throw error;
        // What counts while Redis is away is what this process has counted.
        if (isRefusedAway(whenAway, { ...request, channels: [] })) throw unavailable(error);
        return await localStore.readCounts(request);
      }
    },

    // Also with `whenAway: "open"`: requests are served then, but the limits of several processes are not shared.
    ping: () =>
      availability.call({
        send: () => commands.probe(undefined),
        probe: () => commands.probe(undefined),
      }),

    setCooldown: (channel, cooldown) =>
      writeState(`cooldown ${channel}`, () => commands.setCooldown(channel, cooldown)),

    setPause: (channel, pause) => writeState(`pause ${channel}`, () => commands.setPause(channel, pause)),
  };
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError(
    "gateway_unavailable",
    "This server cannot check its rate limits at the moment: try again.",
    { retryAfterSeconds: RETRY_AFTER_SECONDS, cause },
  );
}

/** What decides whether a request is refused while Redis is away. */
interface NeededState extends Pick<AdmissionRequest, "idempotency" | "channels" | "pausesOf"> {
  readonly windows: readonly unknown[];
  readonly concurrency: readonly unknown[];
}

/** Whether a request is refused while Redis is away. */
function isRefusedAway(policy: AwayPolicy | AwayPolicies, request: NeededState): boolean {
  if (typeof policy === "string") return policy === "closed";
  const { limits = "closed", idempotency = "closed", cooldowns = "open" } = policy;
  const { windows, concurrency } = request;
  return (
    (limits === "closed" && windows.length + concurrency.length > 0) ||
    (idempotency === "closed" && request.idempotency !== undefined) ||
    (cooldowns === "closed" && needsState(request))
  );
}
