import type { AttemptRecord } from "../types.js";
import type { Decimal } from "../util/decimal.js";
import type { ChargeDerivation, RequestBounds } from "./charge.js";
import type { BilledRequest, Outcome } from "./records.js";

/** The channel whose response or failure the client gets, the channel's name of the model, and all attempts so far. */
export interface SentTo {
  readonly channel: string;
  readonly upstreamModel: string;
  readonly attempts: readonly AttemptRecord[];
  /** True if an earlier attempt may have made an image, which is so only with `retryUnsafe`. Default false. */
  readonly isRepeated?: boolean;
  /** What the channel costs the operator. */
  readonly costs?: ChannelCosts | undefined;
}

/** One upstream call of a request, and how it ended. */
export interface SentCall {
  readonly sentTo: SentTo;
  readonly outcome: Outcome;
  /** What the call could make. */
  readonly bounds: RequestBounds;
}

/** What a channel costs the operator. It belongs to the options with which a call was sent. */
export interface ChannelCosts {
  /** Returns what the calls of a request cost, on this channel and on others. */
  sum(request: Pick<BilledRequest, "model">, calls: readonly SentCall[]): RecordedCosts;
  /** Returns what a call of this channel cost. */
  find(request: Pick<BilledRequest, "model">, call: SentCall): CallCost;
  /** Returns what a call of this channel costs at most. `undefined`: that is not known. */
  estimate(model: string, bounds: RequestBounds): Decimal | undefined;
}

/** What a request cost the operator, as its record has it. */
export interface RecordedCosts {
  /**
   * What the operator pays for the request: a decimal string, the sum of `costLines`. Absent if the cost of one of its upstream
   * calls is not known, and without `channels[].costs`.
   */
  readonly cost?: string;
  /**
   * The cost of each upstream call. Absent if none of their channels has `costs`. The amounts are a part of the cost if one of them
   * is absent.
   */
  readonly costLines?: readonly CostLine[];
}

/** What an upstream call cost, or why that is not known. */
export interface CallCost {
  /** A decimal string. Absent if it is not known. */
  readonly amount?: string;
  /** True if the provider reported the amount. Absent: it was computed from `costs` of the channel. */
  readonly isReported?: true;
  /** How the amount was computed. Absent if the provider made nothing, or reported the amount. */
  readonly derivation?: ChargeDerivation;
  /**
   * Why the amount is not known. `no_costs`: the channel has no cost of the model. `not_reported`: the provider did not report
   * what the cost depends on. `unknown_outcome`: images may have been made. `earlier_attempt`: an attempt before this one may have
   * made images; the channels are in `attempts`.
   */
  readonly unknownBecause?: "no_costs" | "not_reported" | "unknown_outcome" | "earlier_attempt";
}

/** The cost of one upstream call, or of the attempts before it. */
export interface CostLine extends CallCost {
  /** The index of the upstream call, from 0. Only if the request took several. */
  readonly call?: number;
  /** The id of the channel. Absent for attempts before the last one. */
  readonly channel?: string;
}
