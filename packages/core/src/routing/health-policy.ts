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
