import type { Operation, Usage } from "../image-request.js";
import type { ChargeDerivation } from "./calculate-charge.js";

/** What one request that reached a provider did and cost. Plain data, ready for `JSON.stringify`. */
export interface UsageRecord {
  /** The request's id, as the client saw it in `x-request-id`. */
  readonly id: string;
  /** When the request came in, ISO 8601 in UTC. */
  readonly time: string;
  /** The caller's id and price group. */
  readonly caller: string;
  readonly group: string;
  /** The service model, and what the channel called it. */
  readonly model: string;
  readonly upstreamModel: string;
  readonly channel: string;
  readonly operation: Operation;
  /** The HTTP status that the client was answered with. */
  readonly status: number;
  /** The `error.code` that the client saw, when the request failed. */
  readonly errorCode?: string;
  /** What the provider reported; absent when it reported nothing. */
  readonly usage?: Usage;
  /** Images that the answer holds. */
  readonly images: number;
  /** A decimal string; `null` when the gateway has no `billing`. */
  readonly charge: string | null;
  /** How the charge came about. Absent when nothing was made and nothing reported, or without `billing`. */
  readonly derivation?: ChargeDerivation;
  /** True when tokens were to be charged and the provider reported none: the charge is 0 and needs a look. */
  readonly unpriced?: boolean;
  /** From the request's arrival to the end of the provider's answer. */
  readonly durationMs: number;
  /** The provider's id of the request, when it gave one. */
  readonly upstreamRequestId?: string;
}
