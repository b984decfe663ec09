import type { AttemptFailure, FailureScope } from "../families/family.js";
import type { Cooldown } from "../types.js";

/** The remembered results of a channel, of a key, or of one model with a key. */
export interface HealthEntry {
  windowStart: number;
  attempts: number;
  failures: number;
  /** Failures of the window since its last success. */
  streak: number;
  /** Why it is left alone, and until when; `undefined` while it is well. */
  cooldown: Cooldown | undefined;
  /** Times it has cooled since its last success. */
  level: number;
  /** Changes with every cooldown and recovery: what began before says nothing of now. */
  generation: number;
  /** Until then the probe under way is waited for; 0 without one. */
  probedUntil: number;
  /** The end of the cooldown that the fleet was last seen to agree on; 0 without one. */
  sharedUntil: number;
  /** The number of its latest attempt among all attempts; 0 before the first. */
  turn: number;
  /** True for a model whose name a client chose. Such a model is not written to the store that gateways share. */
  readonly isLocal: boolean;
}

/** One attempt under way. */
export interface EntryAttempt {
  readonly generation: number;
  /** True for the one attempt that finds out whether what cooled works again. */
  readonly isProbe: boolean;
}

export function createEntry(isLocal = false): HealthEntry {
  return {
    windowStart: 0,
    attempts: 0,
    failures: 0,
    streak: 0,
    cooldown: undefined,
    level: 0,
    generation: 0,
    probedUntil: 0,
    sharedUntil: 0,
    turn: 0,
    isLocal,
  };
}

/** True while one attempt is finding out whether what cooled works again. */
export function isProbed({ probedUntil }: HealthEntry, now: number): boolean {
  return probedUntil > now;
}

/** Before it is due, an attempt of a request that had no better choice is no probe: it makes no cooldown longer. */
export function beginAttempt(entry: HealthEntry, now: number, { probeMs }: HealthPolicy): EntryAttempt {
  const isProbe = entry.cooldown !== undefined && entry.cooldown.until <= now && !isProbed(entry, now);
  if (isProbe) entry.probedUntil = now + probeMs;
  return { generation: entry.generation, isProbe };
}

/** Nothing was learnt. */
export function endAttempt(entry: HealthEntry, { isProbe }: EntryAttempt): void {
  if (isProbe) entry.probedUntil = 0;
}

export function recordSuccess(
  entry: HealthEntry,
  attempt: EntryAttempt,
  now: number,
  policy: HealthPolicy,
): void {
  endAttempt(entry, attempt);
  if (attempt.generation !== entry.generation) return;
  if (entry.cooldown !== undefined) recover(entry);
  count(entry, 0, now, policy);
}

export function recordFailure(
  entry: HealthEntry,
  attempt: EntryAttempt,
  failure: AttemptFailure,
  { now, policy }: { readonly now: number; readonly policy: HealthPolicy },
): void {
  // The provider is well: it is the request that it refused.
  if (failure.kind === "content") return recordSuccess(entry, attempt, now, policy);
  endAttempt(entry, attempt);
  if (failure.kind === "rate") return coolForRate(entry, failure, now, policy);
  if (attempt.generation !== entry.generation) return;
  const isCoolingAlready = entry.cooldown !== undefined && !attempt.isProbe;
  if (isCoolingAlready) return;
  count(entry, 1, now, policy);
  const isAtOnce = attempt.isProbe || isRefusal(failure.kind);
  if (isAtOnce || isFailing(entry, policy)) cool(entry, failure, now, policy);
}

/** A refusal repeats until the operator changes something, so one refusal starts a cooldown. */
export function isRefusal(reason: string): boolean {
  return reason === "credential" || reason === "quota" || reason === "model";
}

function recover(entry: HealthEntry): void {
  const { generation, turn, isLocal } = entry;
  Object.assign(entry, createEntry(isLocal), { generation: generation + 1, turn });
}

function coolForRate(
  entry: HealthEntry,
  { kind, retryAfterSeconds }: AttemptFailure,
  now: number,
  policy: HealthPolicy,
): void {
  const ms = retryAfterSeconds === undefined ? policy.rateLimitMs : retryAfterSeconds * 1000;
  const until = now + Math.min(ms, policy.maxCooldownMs);
  if (until >= (entry.cooldown?.until ?? 0)) startCooldown(entry, { until, reason: kind });
}

function cool(entry: HealthEntry, { kind }: AttemptFailure, now: number, policy: HealthPolicy): void {
  const ms = Math.min(policy.cooldownMs * 2 ** entry.level, policy.maxCooldownMs);
  entry.level++;
  entry.attempts = 0;
  entry.failures = 0;
  entry.streak = 0;
  startCooldown(entry, { until: now + ms, reason: kind });
}

function startCooldown(entry: HealthEntry, cooldown: Cooldown): void {
  entry.cooldown = cooldown;
  entry.generation++;
}

function count(entry: HealthEntry, failures: 0 | 1, now: number, { windowMs }: HealthPolicy): void {
  if (now - entry.windowStart >= windowMs) {
    entry.windowStart = now;
    entry.attempts = 0;
    entry.failures = 0;
    entry.streak = 0;
  }
  entry.attempts++;
  entry.failures += failures;
  entry.streak = failures === 0 ? 0 : entry.streak + 1;
}

function isFailing({ attempts, failures, streak }: HealthEntry, policy: HealthPolicy): boolean {
  if (streak >= policy.failuresInARow) return true;
  return failures >= policy.minFailures && failures / attempts >= policy.failureRate;
}

/** When a channel is left alone, and for how long. Times in milliseconds. */
export interface HealthPolicy {
  /** Failures are counted in windows of this length. */
  readonly windowMs: number;
  /** So many failures in a window, … */
  readonly minFailures: number;
  /** … and at least this share of its attempts, and the channel cools. */
  readonly failureRate: number;
  /** So many in a window with no success between, and it cools, too: the window may be full of what went well before. */
  readonly failuresInARow: number;
  /** The first time to cool; each time without a success between doubles it. */
  readonly cooldownMs: number;
  readonly maxCooldownMs: number;
  /** The time to cool after a 429 without `retry-after`. */
  readonly rateLimitMs: number;
  /** A probe that has not ended by then is lost: some hosts stop a request and tell nobody. */
  readonly probeMs: number;
}

export const DEFAULT_HEALTH_POLICY: HealthPolicy = {
  windowMs: 60_000,
  minFailures: 3,
  failureRate: 0.5,
  failuresInARow: 3,
  cooldownMs: 5_000,
  maxCooldownMs: 600_000,
  rateLimitMs: 10_000,
  probeMs: 3_600_000,
};

/**
 * Takes a cooldown over that another gateway of the fleet told. Times are those of its clock: one
 * that runs ahead cools for the longest cooldown at most.
 */
export function adoptCooldown(
  entry: HealthEntry,
  { until, reason }: Cooldown,
  now: number,
  policy: HealthPolicy,
): void {
  if (until === entry.sharedUntil) return;
  entry.sharedUntil = until;
  const end = Math.min(until, now + policy.maxCooldownMs);
  const isNews = end > now && end > (entry.cooldown?.until ?? 0);
  // A probe under way here is newer than what is told.
  if (!isNews || isProbed(entry, now)) return;
  startCooldown(entry, { until: end, reason });
  if (reason !== "rate") entry.level = Math.max(entry.level, levelOf(end - now, policy));
}

/** A cooldown that the fleet no longer agrees on was ended elsewhere: one request finds out at once. */
export function dropSharedCooldown(entry: HealthEntry, now: number): void {
  const { cooldown, sharedUntil } = entry;
  entry.sharedUntil = 0;
  const isShared = cooldown !== undefined && cooldown.until <= sharedUntil;
  if (isShared && cooldown.until > now) entry.cooldown = { ...cooldown, until: now };
}

/** How often it must have cooled for the cooldown to last that long, so that the next one is longer here, too. */
function levelOf(ms: number, { cooldownMs }: HealthPolicy): number {
  return Math.max(1, Math.ceil(Math.log2(ms / cooldownMs)) + 1);
}

/** Returns what a failure makes unusable: the family's scope, or the default scope of the failure's kind. */
export function scopeOf({ kind, scope }: Pick<AttemptFailure, "kind" | "scope">): FailureScope {
  switch (kind) {
    case "content":
      return "request";
    case "model":
      return scope ?? "model";
    case "credential":
    case "rate":
    case "quota":
      return scope ?? "key";
    case "overload":
    case "server":
      return scope ?? "channel";
    case "unreachable":
    case "timeout":
    case "broken":
      return "channel";
  }
}

/** True if the failure means that the model is unusable on the channel with every key. */
export function isForAllKeys({ kind }: Pick<AttemptFailure, "kind">): boolean {
  return kind !== "credential" && kind !== "rate" && kind !== "quota";
}
