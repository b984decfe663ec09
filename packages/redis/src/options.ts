import { inspect } from "node:util";
import type { Logger } from "@calotype/core";
import type { AwayPolicies, AwayPolicy } from "./away-policies.js";
import type { RedisClient } from "./clients/to-run-script.js";

/** What {@link createRedisAdmissionStore} takes. */
export interface RedisAdmissionStoreOptions {
  /**
   * Your client, of `ioredis` 5 or newer (`Redis`, `Cluster`) or `redis` 4 or newer (`createClient`,
   * `createCluster`). You connect it, listen to its errors, and close it after the gateway.
   */
  readonly client: RedisClient;
  /** Begins every key: gateways with one prefix are one fleet. No braces. Default `calotype:`. */
  readonly prefix?: string | undefined;
  /** So many milliseconds a request waits for Redis. 10 to 60,000, default 1,000. */
  readonly deadlineMs?: number | undefined;
  /** What becomes of requests while Redis is away: one word for all, or one for each store. Default `closed`. */
  readonly whenAway?: AwayPolicy | AwayPolicies | undefined;
  /**
   * So many seconds after the last sign of life of a gateway its places and idempotency keys are free. A gateway renews
   * those of its requests for as long as they run. 1 to 3,600, default 120; longer than any pause of the process, and
   * any absence of Redis, that you expect: a repeat of a request whose key lapsed runs again.
   */
  readonly leaseSeconds?: number | undefined;
  /** Of an answer that takes more bytes only a mark is kept: a repeat of it is refused. Default 320 KiB. */
  readonly maxResponseBytes?: number | undefined;
  /** Told once when Redis is away, and once when it is back. Default: lines of JSON on the console. */
  readonly logger?: Logger | undefined;
}

const POLICIES: ReadonlySet<unknown> = new Set(["open", "closed", undefined]);
const STORES: ReadonlySet<string> = new Set(["limits", "idempotency", "cooldowns"]);

/** @throws TypeError or RangeError that names the option and what it may be */
export function checkOptions({
  prefix,
  deadlineMs,
  whenAway,
  leaseSeconds,
  maxResponseBytes,
}: RedisAdmissionStoreOptions): void {
  if (prefix !== undefined && (typeof prefix !== "string" || /[{}]/.test(prefix))) {
    throw new TypeError(
      "prefix must be a string without braces: what stands in them decides on the cluster's node.",
    );
  }
  assertBetween("deadlineMs", deadlineMs, 10, 60_000);
  assertBetween("leaseSeconds", leaseSeconds, 1, 3_600);
  assertBetween("maxResponseBytes", maxResponseBytes, 0, 512 * 1024 * 1024);
  if (whenAway === undefined || POLICIES.has(whenAway)) return;
  const isEachRight = ([store, policy]: [string, unknown]): boolean =>
    STORES.has(store) && POLICIES.has(policy);
  if (typeof whenAway === "object" && whenAway !== null && Object.entries(whenAway).every(isEachRight))
    return;
  throw new TypeError(
    'whenAway must be "open", "closed", or one of them for limits, idempotency and cooldowns.',
  );
}

function assertBetween(name: string, value: unknown, least: number, most: number): void {
  if (value === undefined || (typeof value === "number" && value >= least && value <= most)) return;
  throw new RangeError(`${name} must be a number from ${least} to ${most}, not ${inspect(value)}.`);
}
