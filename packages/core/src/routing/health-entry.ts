import type { Cooldown } from "../image-request.js";
import type { AttemptFailure } from "../upstream-failure.js";
import type { HealthPolicy } from "./health-policy.js";

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

export function startCooldown(entry: HealthEntry, cooldown: Cooldown): void {
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
