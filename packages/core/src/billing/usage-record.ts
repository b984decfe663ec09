import type { AttemptRecord, Operation, Usage } from "../types.js";
import type { ChargeDerivation } from "./calculate-charge.js";

/** What is known of every request that may have reached a provider. */
interface RequestFacts {
  /** The request's id, as the client saw it in `x-request-id`. Stable: a record that is delivered twice has it twice. */
  readonly id: string;
  /** When the request came in, ISO 8601 in UTC. */
  readonly time: string;
  /** The caller's id and price group. */
  readonly caller: string;
  readonly group: string;
  /** The service model. */
  readonly model: string;
  readonly operation: Operation;
  /** Images that the answer holds. */
  readonly images: number;
  /** A decimal string; `null` when the gateway has no `billing`. */
  readonly charge: string | null;
}

/** What one request that reached a provider did and cost. */
export interface SettledRecord extends RequestFacts {
  readonly state: "settled";
  /** The channel whose response or failure the client got, with the channel's name of the model. */
  readonly channel: string;
  readonly upstreamModel: string;
  /**
   * All attempts in order, at most the last 100. Absent in records of version 0.1. If the response failed after its
   * head, the last attempt has the failure as its `code`.
   */
  readonly attempts?: readonly AttemptRecord[];
  /** The HTTP status that the client was answered with. */
  readonly status: number;
  /** The `error.code` that the client saw, when the request failed. */
  readonly errorCode?: string;
  /** What the provider reported; absent when it reported nothing. Charges and totals are computed from it. */
  readonly usage?: Usage;
  /**
   * Present only if the provider reported more than the request could make: the report before `usage` was cut to that
   * maximum. The maximum is the larger of the images that the request allows (`n`, `max_images`, layers) and the images
   * in the response, and one token for each 256 pixels of each such image. Compare it with the provider's bill.
   */
  readonly reportedUsage?: Usage;
  /** How the charge came about. Absent when nothing was made and nothing reported, or without `billing`. */
  readonly derivation?: ChargeDerivation;
  /**
   * True if tokens have a price and some tokens are unknown: the provider reported none, or a stream broke off and
   * the size of one of its images is unknown. The charge does not include the unknown tokens; it may be 0 and should
   * be checked.
   */
  readonly unpriced?: boolean;
  /** From the request's arrival to the end of the provider's answer. */
  readonly durationMs: number;
  /** The provider's id of the request, when it gave one. */
  readonly upstreamRequestId?: string;
}

/**
 * A request whose end is not known: its process died, or was closed, before the provider's answer
 * ended. It may have been sent, and an image may have been made.
 */
export interface UnresolvedRecord extends RequestFacts {
  readonly state: "unresolved";
  /** What was set aside for it; charged where `billing.onLost` is `"charge"`. */
  readonly held: string | null;
  readonly images: 0;
}

/**
 * A request that was unresolved until its process reported that it reached no provider. The process had been paused,
 * or had lost its connection to the database. This record replaces the unresolved record of the same id and costs
 * nothing.
 */
export interface ReleasedRecord extends RequestFacts {
  readonly state: "released";
  /** The amount that was held for the request. */
  readonly held: string | null;
  readonly images: 0;
}

/** One request in the books. Plain data, ready for `JSON.stringify`. */
export type UsageRecord = SettledRecord | UnresolvedRecord | ReleasedRecord;
