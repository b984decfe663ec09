import type { LostPolicy } from "@calotype/core/billing";
import type { AwayPolicy } from "@calotype/redis";
import { CALLERS } from "../crashes/server-plan.ts";

/** The input of the program `gateway-process.ts`. All gateways of a fleet get the same. */
export interface GatewayPlan {
  readonly redisUrl: string;
  /** The ports of a cluster, in place of `redisUrl`. */
  readonly redisCluster?: readonly number[] | undefined;
  /** The prefix of every key in Redis. */
  readonly prefix: string;
  readonly whenAway: AwayPolicy;
  readonly postgresUrl: string;
  readonly schema: string;
  /** The lease of holds in the ledger. */
  readonly leaseSeconds: number;
  /** The lease of slots and idempotency keys in Redis. */
  readonly admissionLeaseSeconds: number;
  readonly onLost: LostPolicy;
  readonly arkBaseUrl: string;
  readonly gatedBaseUrl: string;
  /** How tasks are run. Then a gateway starts before its first request. Default: as without options. */
  readonly tasks?: TasksPlan | undefined;
}

/** How the gateways run tasks. */
export interface TasksPlan {
  /** Where the caller `shop` is told the end of its tasks. */
  readonly webhookUrl: string;
  /** The file to which a gateway appends the id of each task that it may send, before it sends the task. */
  readonly marksPath: string;
}

/** How long a request waits for Redis. */
export const REDIS_DEADLINE_MS = 500;

/** A model whose provider responds when the test allows it. */
export const GATED = "gated";
/** The callers and their limits. */
export const FLEET_CALLERS = {
  ...CALLERS,
  "by-requests": { key: "caller-canary-2a9d4c17", limits: { requestsPerMinute: 37 } },
  "by-places": { key: "caller-canary-d94e7a52", limits: { concurrent: 7 } },
} as const;

export type FleetCaller = keyof typeof FLEET_CALLERS;
