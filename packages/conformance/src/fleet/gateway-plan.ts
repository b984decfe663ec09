import type { LostPolicy } from "@calotype/core/billing";
import type { AwayPolicy } from "@calotype/redis";
import { CALLERS } from "../crashes/server-plan.ts";

/** The input of the program `gateway-process.ts`. All gateways of a fleet get the same. */
export interface GatewayPlan {
  readonly redisUrl: string;
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
/** A model with two channels. The first one has a higher priority. */
export const TWICE = "twice";
/** The provider's names of that model on its channels. */
export const FIRST_UPSTREAM = "doubao-seedream-4-5-251128";
export const SECOND_UPSTREAM = "doubao-seedream-5-0-lite-260128";

/** The callers and their limits. */
export const FLEET_CALLERS = {
  ...CALLERS,
  "by-requests": { key: "caller-canary-2a9d4c17", limits: { requestsPerMinute: 37 } },
  "by-images": { key: "caller-canary-6f01b8e3", limits: { imagesPerMinute: 50 } },
  "by-places": { key: "caller-canary-d94e7a52", limits: { concurrent: 7 } },
  "by-budget": { key: "caller-canary-80c3f6b9", budget: "1.5" },
} as const;

export type FleetCaller = keyof typeof FLEET_CALLERS;
