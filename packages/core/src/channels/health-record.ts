import type { AttemptFailure } from "../families/failure.js";
import type { Cooldown } from "../types.js";

/** When a channel, key or model cools, and for how long. Times are in milliseconds. */
export interface HealthPolicy {
  /** Attempts and failures are counted in windows of this length. */
  readonly windowMs: number;
  /** A cooldown starts after this number of failures in a window, … */
  readonly minFailures: number;
  /** … if they are at least this share of the attempts. */
  readonly failureRate: number;
  /** A cooldown also starts after this number of failures without a success between them. */
  readonly failuresInARow: number;
  /** The first cooldown. Each further cooldown without a success between them is twice as long. */
  readonly cooldownMs: number;
  readonly maxCooldownMs: number;
  /** The cooldown after a 429 without `retry-after`. */
  readonly rateLimitMs: number;
  /** A probe that has not ended after this time is lost: some hosts stop a request without telling anyone. */
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

/** A refusal repeats until the operator changes something, so one refusal starts a cooldown. */
export function isRefusal(reason: string): boolean {
  return reason === "credential" || reason === "quota" || reason === "model";
}

/** One attempt in progress. */
export interface RecordedAttempt {
  readonly generation: number;
  /** True for the attempt after a cooldown that finds out whether the channel, key or model works again. */
  readonly isProbe: boolean;
}

const NO_COUNTS = { windowStart: 0, attempts: 0, failures: 0, inARow: 0 };

/** The results of the attempts on one channel, on one key, or on one model with a key. */
export class HealthRecord {
  /** True for a model whose name a client chose. Such a record is not written to the store that gateways share. */
  readonly isLocal: boolean;
  /** `undefined` while the channel, key or model works. */
  cooldown: Cooldown | undefined;
  /** The number of its latest attempt among all attempts; 0 before the first. */
  lastUse = 0;
  /** When it last began to cool after it had worked, or worked again. `undefined` until then. Milliseconds since 1970. */
  changedAt: number | undefined;
  readonly #policy: HealthPolicy;
  #counts = { ...NO_COUNTS };
  /** The number of cooldowns since the last success. */
  #level = 0;
  /** Changes with every cooldown and recovery. The result of an attempt that began before a change does not count. */
  #generation = 0;
  /** The time until which a probe is in progress; 0 without a probe. */
  #probedUntil = 0;
  /** The end of the latest cooldown that came from another gateway; 0 without one. */
  #sharedUntil = 0;

  constructor(policy: HealthPolicy, isLocal: boolean) {
    this.#policy = policy;
    this.isLocal = isLocal;
  }

  isProbed(now: number): boolean {
    return this.#probedUntil > now;
  }

  /** The first attempt after the end of a cooldown is a probe. An attempt before that end is not a probe. */
  begin(now: number): RecordedAttempt {
    const isProbe = this.cooldown !== undefined && this.cooldown.until <= now && !this.isProbed(now);
    if (isProbe) this.#probedUntil = now + this.#policy.probeMs;
    return { generation: this.#generation, isProbe };
  }

  /** Ends an attempt without a result. */
  abandon({ isProbe }: RecordedAttempt): void {
    if (isProbe) this.#probedUntil = 0;
  }

  succeed(attempt: RecordedAttempt, now: number): void {
    this.abandon(attempt);
    if (attempt.generation !== this.#generation) return;
    if (this.cooldown !== undefined) this.#recover(now);
    this.#count(0, now);
  }

  fail(attempt: RecordedAttempt, failure: AttemptFailure, now: number): void {
    this.abandon(attempt);
    if (failure.kind === "rate") return this.#coolForRate(failure, now);
    if (attempt.generation !== this.#generation) return;
    // A failure before the end of a cooldown must not make the cooldown longer.
    if (this.cooldown !== undefined && !attempt.isProbe) return;
    this.#count(1, now);
    if (attempt.isProbe || isRefusal(failure.kind) || this.#isFailing()) this.#cool(failure, now);
  }

  /**
   * Takes over a cooldown from another gateway. The time is that gateway's. If its clock is ahead, the cooldown is
   * limited to the longest one.
   */
  adopt({ until, reason }: Cooldown, now: number): void {
    if (until === this.#sharedUntil) return;
    this.#sharedUntil = until;
    const { maxCooldownMs, cooldownMs } = this.#policy;
    const end = Math.min(until, now + maxCooldownMs);
    const isLater = end > now && end > (this.cooldown?.until ?? 0);
    // A probe in progress here is newer than the cooldown.
    if (!isLater || this.isProbed(now)) return;
    this.#startCooldown({ until: end, reason }, now);
    if (reason === "rate") return;
    // The number of cooldowns after which one is this long, so that the next one is longer here too.
    const level = Math.max(1, Math.ceil(Math.log2((end - now) / cooldownMs)) + 1);
    this.#level = Math.max(this.#level, level);
  }

  /** Another gateway has ended the adopted cooldown. The next attempt here is a probe. */
  endAdopted(now: number): void {
    const isAdopted = this.cooldown !== undefined && this.cooldown.until <= this.#sharedUntil;
    this.#sharedUntil = 0;
    if (this.cooldown !== undefined && isAdopted && this.cooldown.until > now) {
      this.cooldown = { ...this.cooldown, until: now };
    }
  }

  #recover(now: number): void {
    this.cooldown = undefined;
    this.changedAt = now;
    this.#counts = { ...NO_COUNTS };
    this.#level = 0;
    this.#generation++;
    this.#probedUntil = 0;
    this.#sharedUntil = 0;
  }

  #coolForRate({ kind, retryAfterSeconds }: AttemptFailure, now: number): void {
    const { rateLimitMs, maxCooldownMs } = this.#policy;
    const ms = retryAfterSeconds === undefined ? rateLimitMs : retryAfterSeconds * 1000;
    const until = now + Math.min(ms, maxCooldownMs);
    if (until >= (this.cooldown?.until ?? 0)) this.#startCooldown({ until, reason: kind }, now);
  }

  #cool({ kind }: AttemptFailure, now: number): void {
    const { cooldownMs, maxCooldownMs } = this.#policy;
    const ms = Math.min(cooldownMs * 2 ** this.#level, maxCooldownMs);
    this.#level++;
    this.#counts = { ...NO_COUNTS, windowStart: this.#counts.windowStart };
    this.#startCooldown({ until: now + ms, reason: kind }, now);
  }

  #startCooldown(cooldown: Cooldown, now: number): void {
    if (this.cooldown === undefined) this.changedAt = now;
    this.cooldown = cooldown;
    this.#generation++;
  }

  #count(failures: 0 | 1, now: number): void {
    if (now - this.#counts.windowStart >= this.#policy.windowMs) {
      this.#counts = { ...NO_COUNTS, windowStart: now };
    }
    this.#counts.attempts++;
    this.#counts.failures += failures;
    this.#counts.inARow = failures === 0 ? 0 : this.#counts.inARow + 1;
  }

  #isFailing(): boolean {
    const { attempts, failures, inARow } = this.#counts;
    const { minFailures, failureRate, failuresInARow } = this.#policy;
    return inARow >= failuresInARow || (failures >= minFailures && failures / attempts >= failureRate);
  }
}
