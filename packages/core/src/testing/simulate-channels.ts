import { Commit } from "../billing/commit.js";
import type { Hold } from "../billing/hold.js";
import { createAttemptHistory } from "../channels/attempt-history.js";
import {
  type Channel,
  type ChannelOptions,
  createChannel,
  createModelHealthId,
  findLeaseMs,
  healthIdsOf,
} from "../channels/channel.js";
import { type ChannelHealth, createChannelHealth } from "../channels/health.js";
import { DEFAULT_HEALTH_POLICY } from "../channels/health-record.js";
import { createRetryBudgets, DEFAULT_RETRY_BUDGET } from "../channels/retry-budget.js";
import { seedream } from "../families/seedream/seedream.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { Cooldown } from "../types.js";
import { dispatch, type UpstreamRefusal, type UpstreamSuccess } from "../upstream/dispatch.js";
import { toUploads } from "../upstream/references.js";
import { type Transport, TransportError, type TransportResponse } from "../upstream/transport.js";
import { createRandom, SEED } from "./random.js";
import { createVirtualTime, type VirtualTime } from "./virtual-time.js";

/** How a provider responds to a call: a kind of failure, an image, or a 429 with `retry-after`. */
export type Behaviour =
  | "ok"
  | "content"
  | "credential"
  | "quota"
  | "model"
  | "rate"
  | "overload"
  | "server"
  | "unreachable"
  | "timeout"
  | "broken"
  | { readonly retryAfterSeconds: number };

/** One call to a provider. */
export interface SimulatedCall {
  /** The number of the request, in the order of arrival. */
  readonly request: number;
  readonly channel: string;
  /** The key. */
  readonly key: string;
  readonly behaviour: Behaviour;
  readonly beganAt: number;
  endedAt: number;
  /** Whether the key or its channel was cooling when the call began, … */
  readonly wasCooling: boolean;
  /** … and was not due for a probe yet. */
  readonly wasEarly: boolean;
}

/** The hold of a request that is not charged. */
const FREE: Hold = {
  settle: () => FREE.ended,
  release: () => FREE.ended,
  abandon() {},
  ended: Promise.resolve({ state: "released", isNothingMade: true }),
  end: undefined,
  isAbandoned: false,
  record: undefined,
};

/** The result of one request. */
interface SimulatedRequest {
  readonly beganAt: number;
  readonly outcome: UpstreamSuccess | UpstreamRefusal;
}

export interface SimulationOptions {
  readonly channels: readonly Partial<ChannelOptions>[];
  /** The behaviour of a channel with a key at a time, in milliseconds from the start. */
  readonly behave: (channel: string, key: string, ms: number) => Behaviour;
  readonly random?: () => number;
  /** The time from a call to its response, in milliseconds. */
  readonly latencyMs?: number;
}

/** Simulated channels, providers and time. */
export interface Simulation {
  readonly time: VirtualTime;
  readonly health: ChannelHealth;
  readonly channels: readonly Channel[];
  readonly calls: readonly SimulatedCall[];
  /** The number of requests that were not sent again because the retry budget was used up. */
  readonly refusedRetries: () => number;
  /** Milliseconds from the start. */
  readonly elapsed: () => number;
  /** Sends one request, and moves the time forward until it has a response. */
  send(): Promise<SimulatedRequest>;
  /** Sends requests with these gaps between them, in milliseconds, without waiting for responses. */
  sendAll(gaps: readonly number[]): Promise<readonly SimulatedRequest[]>;
}

const CONNECTED = { signal: { aborted: false } };

const STATUS: Readonly<Record<string, readonly [number, string]>> = {
  content: [400, "InvalidParameter"],
  credential: [401, "AuthenticationError"],
  quota: [429, "QuotaExceeded"],
  model: [404, "InvalidEndpointOrModel.NotFound"],
  rate: [429, "RateLimitExceeded"],
  overload: [503, "ServerOverloaded"],
  server: [500, "InternalServiceError"],
};

export function simulateChannels(options: SimulationOptions): Simulation {
  const time = createVirtualTime();
  const start = time.now();
  const elapsed = (): number => time.now() - start;
  const { behave, random = createRandom(SEED), latencyMs = 0 } = options;
  const channels = options.channels.map((channel, index) =>
    createChannel(
      {
        id: `channel-${index}`,
        family: "seedream",
        apiKey: `key-${index}`,
        baseUrl: `https://channel-${index}.test`,
        ...channel,
      },
      seedream,
    ),
  );
  const health = createChannelHealth(time.now, DEFAULT_HEALTH_POLICY);
  const budgets = createRetryBudgets(time.now, DEFAULT_RETRY_BUDGET);
  const calls: SimulatedCall[] = [];
  let requests = 0;
  let refused = 0;

  const transportOf = (request: number): Transport => ({
    async send({ url, headers }) {
      const channel = new URL(url).hostname.replace(".test", "");
      const key = headers["authorization"]?.slice("Bearer ".length) ?? "";
      const cooldowns = findCooldowns(channels, health, channel, key);
      const call: SimulatedCall = {
        request,
        channel,
        key,
        behaviour: behave(channel, key, elapsed()),
        beganAt: elapsed(),
        endedAt: Number.POSITIVE_INFINITY,
        wasCooling: cooldowns.length > 0,
        wasEarly: cooldowns.some(({ until }) => until > time.now()),
      };
      calls.push(call);
      if (latencyMs > 0) await time.sleep(latencyMs);
      call.endedAt = elapsed();
      return responseOf(call.behaviour);
    },
    download: () => Promise.reject(new TransportError("unreachable", undefined)),
    close: () => Promise.resolve(),
  });

  const sendOne = async (): Promise<SimulatedRequest> => {
    const request = requests++;
    const beganAt = elapsed();
    const outcome = await dispatch(
      {
        id: `request-${request}`,
        request: REQUEST,
        model: modelOf(channels),
        logger: SILENT,
        client: CONNECTED,
        loadReferences: toUploads,
        bytes: { addAnyway() {}, remove() {} },
      },
      new Commit(FREE),
      {
        transport: transportOf(request),
        random,
        now: time.now,
        sleep: time.sleep,
        health,
        pauses: undefined,
        history: createAttemptHistory(time.now),
        retryBudgets: {
          ...budgets,
          take(model) {
            const isTaken = budgets.take(model);
            if (!isTaken) refused++;
            return isTaken;
          },
        },
        redact: (text) => text,
      },
    );
    return { beganAt, outcome };
  };

  return {
    time,
    health,
    channels,
    calls,
    refusedRetries: () => refused,
    elapsed,
    send: () => time.run(sendOne()),
    sendAll: (gaps) =>
      time.run(
        (async () => {
          const under: Promise<SimulatedRequest>[] = [];
          for (const gap of gaps) {
            if (gap > 0) await time.sleep(gap);
            under.push(sendOne());
          }
          return await Promise.all(under);
        })(),
      ),
  };
}

const REQUEST = seedream.normalize(
  { prompt: "x" },
  { operation: "generate", model: "m", capabilities: undefined, defaultResponseFormat: undefined },
);

const SILENT = { warn: () => {}, error: () => {} };

function modelOf(channels: readonly Channel[]): ResolvedModel {
  return {
    name: "m",
    entry: "m",
    family: seedream,
    capabilities: undefined,
    maxUpstreamCalls: 1,
    operations: seedream.operations,
    preferences: {},
    limits: undefined,
    channels,
    dialects: [],
    upstreamModels: [],
    healthIds: healthIdsOf(channels, { name: "m", entry: "m" }),
    channelIds: [],
    leaseMs: findLeaseMs(channels),
  };
}

function findCooldowns(
  channels: readonly Channel[],
  health: ChannelHealth,
  id: string,
  apiKey: string,
): Cooldown[] {
  const channel = channels.find((other) => other.id === id);
  const key = channel?.keys.find((other) => other.apiKey === apiKey);
  const ids = [channel?.healthId, key?.healthId, key && createModelHealthId(key.healthId, "m")];
  return ids.flatMap((healthId) => (healthId === undefined ? [] : (health.cooldownOf(healthId) ?? [])));
}

function responseOf(behaviour: Behaviour): TransportResponse {
  if (behaviour === "unreachable" || behaviour === "timeout" || behaviour === "broken") {
    throw new TransportError(behaviour, undefined);
  }
  if (behaviour === "ok") return respond(200, "{}", {});
  if (typeof behaviour === "object") {
    return respond(429, '{"error":{"code":"RateLimitExceeded"}}', {
      "retry-after": `${behaviour.retryAfterSeconds}`,
    });
  }
  const [status, code] = STATUS[behaviour] ?? [500, ""];
  return respond(status, JSON.stringify({ error: { code } }), {});
}

function respond(status: number, text: string, headers: Record<string, string>): TransportResponse {
  return {
    status,
    headers: { get: (name) => headers[name] ?? null },
    body: (async function* () {
      yield new TextEncoder().encode(text);
    })(),
    cancel: () => {},
  };
}
