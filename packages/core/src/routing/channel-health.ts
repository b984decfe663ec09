import type { AttemptFailure } from "../upstream/attempt-failure.js";

/** When a channel is left alone, and for how long. Times in milliseconds. */
export interface HealthPolicy {
  /** Failures are counted in windows of this length. */
  readonly windowMs: number;
  /** So many failures in a window, … */
  readonly minFailures: number;
  /** … and at least this share of its attempts, and the channel cools. */
  readonly failureRate: number;
  /** The first time to cool; each time without a success between doubles it. */
  readonly cooldownMs: number;
  readonly maxCooldownMs: number;
  /** The time to cool after a 429 without `retry-after`. */
  readonly rateLimitMs: number;
}

export const DEFAULT_HEALTH_POLICY: HealthPolicy = {
  windowMs: 60_000,
  minFailures: 3,
  failureRate: 0.5,
  cooldownMs: 5_000,
  maxCooldownMs: 600_000,
  rateLimitMs: 10_000,
};

/** How a channel is. */
export interface ChannelStatus {
  readonly id: string;
  /** `cooling`: left alone until `nextTryAt`. `probing`: one request is finding out whether it works again. */
  readonly state: "ready" | "cooling" | "probing";
  /** The failure that it cools for. */
  readonly reason?: AttemptFailure["kind"];
  /** ISO 8601, UTC. */
  readonly nextTryAt?: string;
}

/** One attempt on a channel, to be ended once. */
interface HealthAttempt {
  succeeded(): void;
  failed(failure: AttemptFailure): void;
}

/** Remembers how channels fared, and which are to be left alone. */
export interface ChannelHealth {
  /** Milliseconds since 1970 from which the channel may be tried; 0 for one that is well, Infinity while it is probed. */
  readyAt(id: string): number;
  begin(id: string): HealthAttempt;
  status(id: string): ChannelStatus;
}

interface Entry {
  windowStart: number;
  attempts: number;
  failures: number;
  /** 0 for a channel that is well. */
  coolingUntil: number;
  /** Times it has cooled since its last success. */
  level: number;
  isProbed: boolean;
  reason: AttemptFailure["kind"] | undefined;
}

/** The health of channels, in this process. */
export function createChannelHealth(now: () => number, policy: HealthPolicy): ChannelHealth {
  const entries = new Map<string, Entry>();
  const entryOf = (id: string): Entry => {
    const entry = entries.get(id) ?? createEntry();
    entries.set(id, entry);
    return entry;
  };
  return {
    readyAt(id) {
      const { coolingUntil, isProbed } = entryOf(id);
      return isProbed ? Number.POSITIVE_INFINITY : coolingUntil;
    },
    begin(id) {
      const entry = entryOf(id);
      const isProbe = entry.coolingUntil > 0;
      if (isProbe) entry.isProbed = true;
      return {
        succeeded: () => recordSuccess(entry, isProbe, now(), policy),
        failed: (failure) => recordFailure(entry, failure, isProbe, now(), policy),
      };
    },
    status: (id) => describe(id, entryOf(id)),
  };
}

function createEntry(): Entry {
  return {
    windowStart: 0,
    attempts: 0,
    failures: 0,
    coolingUntil: 0,
    level: 0,
    isProbed: false,
    reason: undefined,
  };
}

/** A success that began before the channel cooled says nothing of how it is now. */
function recordSuccess(entry: Entry, isProbe: boolean, now: number, policy: HealthPolicy): void {
  if (entry.coolingUntil > 0 && !isProbe) return;
  if (isProbe) Object.assign(entry, createEntry());
  count(entry, 0, now, policy);
}

function recordFailure(
  entry: Entry,
  failure: AttemptFailure,
  isProbe: boolean,
  now: number,
  policy: HealthPolicy,
): void {
  // The provider is well: it is the request that it refused.
  if (failure.kind === "content") return recordSuccess(entry, isProbe, now, policy);
  if (isProbe) entry.isProbed = false;
  if (failure.kind === "rate") {
    const ms =
      failure.retryAfterSeconds === undefined ? policy.rateLimitMs : failure.retryAfterSeconds * 1000;
    entry.coolingUntil = Math.max(entry.coolingUntil, now + Math.min(ms, policy.maxCooldownMs));
    entry.reason = failure.kind;
    return;
  }
  const isCoolingAlready = entry.coolingUntil > 0 && !isProbe;
  if (isCoolingAlready) return;
  count(entry, 1, now, policy);
  const isRefused = failure.kind === "credential" || failure.kind === "quota";
  if (isProbe || isRefused || isFailing(entry, policy)) cool(entry, failure, now, policy);
}

function count(entry: Entry, failures: 0 | 1, now: number, { windowMs }: HealthPolicy): void {
  if (now - entry.windowStart >= windowMs) {
    entry.windowStart = now;
    entry.attempts = 0;
    entry.failures = 0;
  }
  entry.attempts++;
  entry.failures += failures;
}

function isFailing({ attempts, failures }: Entry, { minFailures, failureRate }: HealthPolicy): boolean {
  return failures >= minFailures && failures / attempts >= failureRate;
}

function cool(entry: Entry, { kind }: AttemptFailure, now: number, policy: HealthPolicy): void {
  const ms = Math.min(policy.cooldownMs * 2 ** entry.level, policy.maxCooldownMs);
  entry.coolingUntil = now + ms;
  entry.level++;
  entry.reason = kind;
  entry.attempts = 0;
  entry.failures = 0;
}

function describe(id: string, { coolingUntil, isProbed, reason }: Entry): ChannelStatus {
  if (coolingUntil === 0) return { id, state: "ready" };
  return {
    id,
    state: isProbed ? "probing" : "cooling",
    ...(reason !== undefined && { reason }),
    nextTryAt: new Date(coolingUntil).toISOString(),
  };
}
