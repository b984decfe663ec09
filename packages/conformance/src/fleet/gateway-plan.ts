import type { LostPolicy } from "@calotype/core/billing";
import type { AwayPolicy } from "@calotype/redis";
import { CALLERS } from "../crashes/server-plan.ts";

/** What the program of `gateway-process.ts` is told. Those of one fleet are told the same. */
export interface GatewayPlan {
  readonly redisUrl: string;
  /** Begins every key in Redis. */
  readonly prefix: string;
  readonly whenAway: AwayPolicy;
  readonly postgresUrl: string;
  readonly schema: string;
  /** So long after its last sign of life a gateway's holds are lost. */
  readonly leaseSeconds: number;
  /** The same for its places and idempotency keys. */
  readonly admissionLeaseSeconds: number;
  readonly onLost: LostPolicy;
  readonly arkBaseUrl: string;
  readonly gatedBaseUrl: string;
}

/** So long a request waits for Redis. */
export const REDIS_DEADLINE_MS = 500;

/** A model whose provider answers when the test lets it. */
export const GATED = "gated";
/** A model with two channels, of which the first is better. */
export const TWICE = "twice";
/** What the channels call that model. */
export const FIRST_UPSTREAM = "doubao-seedream-4-5-251128";
export const SECOND_UPSTREAM = "doubao-seedream-5-0-lite-260128";

/** Who calls, and what each may do. */
export const FLEET_CALLERS = {
  ...CALLERS,
  "by-requests": { key: "caller-canary-2a9d4c17", limits: { requestsPerMinute: 37 } },
  "by-images": { key: "caller-canary-6f01b8e3", limits: { imagesPerMinute: 50 } },
  "by-places": { key: "caller-canary-d94e7a52", limits: { concurrent: 7 } },
  "by-budget": { key: "caller-canary-80c3f6b9", budget: "1.5" },
} as const;

export type FleetCaller = keyof typeof FLEET_CALLERS;
