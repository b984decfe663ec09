import { inspect } from "node:util";
import type { Logger } from "@calotype/core";
import { checkOptionNames } from "@calotype/core/stores";
import type { RedisClient } from "./client.js";

/** The options of {@link createRedisAdmissionStore}. */
export interface RedisAdmissionStoreOptions {
  /**
   * Your client, of `ioredis` 5 or newer (`Redis`, `Cluster`) or `redis` 4 or newer (`createClient`,
   * `createCluster`). You connect it, listen to its errors, and close it after the gateway.
   */
  readonly client: RedisClient;
  /** Begins every key. Gateways with the same prefix share their state. No braces. Default `calotype:`. */
  readonly prefix?: string | undefined;
  /** The longest time that a request waits for Redis, in seconds. 0.01 to 60, default 1. */
  readonly deadlineSeconds?: number | undefined;
  /** What happens to requests while Redis is away: one policy for everything, or one for each kind. Default `closed`. */
  readonly whenAway?: AwayPolicy | AwayPolicies | undefined;
  /**
   * Time after the last sign of life of a gateway until its slots and idempotency keys are free. A gateway renews those
   * of its running requests. 1 to 3,600, default 120. Choose a time longer than any pause of the process and any
   * absence of Redis that you expect: a repeat of a request whose idempotency key is free runs again.
   */
  readonly leaseSeconds?: number | undefined;
  /** A larger response is not stored, and a repeat of its request is refused. Default 320 KiB. */
  readonly maxResponseBytes?: number | undefined;
  /** Gets one line when Redis is away, and one when it is back. Default: lines of JSON on the console. */
  readonly logger?: Logger | undefined;
}

/**
 * What happens to requests while Redis is away. `closed`: they are refused with 503. `open`: each process counts by
 * itself in its own memory, beginning at 0.
 */
export type AwayPolicy = "open" | "closed";

/** A policy for each kind of state in Redis. A request is refused if it needs a kind that is closed. */
export interface AwayPolicies {
  /** Limits on requests, images and concurrent requests. Default `closed`. */
  readonly limits?: AwayPolicy | undefined;
  /**
   * Idempotency keys. Default `closed`. With `open`, a repeat of a request that is running in another process, or that
   * has finished, runs again and is charged again.
   */
  readonly idempotency?: AwayPolicy | undefined;
  /** Cooldowns of channels, which every request needs. Default `open`: the last known cooldowns stay in use. */
  readonly cooldowns?: AwayPolicy | undefined;
}

const POLICIES: ReadonlySet<unknown> = new Set(["open", "closed", undefined]);
const KINDS: ReadonlySet<string> = new Set(["limits", "idempotency", "cooldowns"]);

/** Options of version 0.1. */
const OLD_NAMES = { deadlineMs: "deadlineSeconds, in seconds", maxAnswerBytes: "maxResponseBytes" };

/** @throws TypeError or RangeError that names the option and its valid values */
export function checkOptions(options: RedisAdmissionStoreOptions): void {
  const { prefix, deadlineSeconds, whenAway, leaseSeconds, maxResponseBytes } = options;
  for (const [name, replacement] of Object.entries(OLD_NAMES)) {
    if (name in options) throw new TypeError(`${name} is not an option any more: set ${replacement}.`);
  }
  checkOptionNames("createRedisAdmissionStore", options, {
    client: true,
    prefix: true,
    deadlineSeconds: true,
    whenAway: true,
    leaseSeconds: true,
    maxResponseBytes: true,
    logger: true,
  });
  if (prefix !== undefined && (typeof prefix !== "string" || /[{}]/.test(prefix))) {
    throw new TypeError(
      "prefix must be a string without braces, because braces select the node of a cluster.",
    );
  }
  assertBetween("deadlineSeconds", deadlineSeconds, 0.01, 60);
  assertBetween("leaseSeconds", leaseSeconds, 1, 3_600);
  assertBetween("maxResponseBytes", maxResponseBytes, 0, 512 * 1024 * 1024);
  if (!isPolicy(whenAway)) {
    throw new TypeError(
      'whenAway must be "open", "closed", or one of them for limits, idempotency and cooldowns.',
    );
  }
}

function isPolicy(value: unknown): boolean {
  if (POLICIES.has(value)) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).every(([kind, policy]) => KINDS.has(kind) && POLICIES.has(policy));
}

function assertBetween(name: string, value: unknown, least: number, most: number): void {
  if (value === undefined || (typeof value === "number" && value >= least && value <= most)) return;
  throw new RangeError(`${name} must be a number from ${least} to ${most}, not ${inspect(value)}.`);
}
