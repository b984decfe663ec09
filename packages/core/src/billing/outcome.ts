import type { AttemptRecord, ImageMark, MadeImage, Usage } from "../types.js";
import type { Decimal } from "../util/decimal.js";
import type { ChargeDerivation, RequestBounds } from "./charge.js";

/** The channel whose response or failure the client gets, the channel's name of the model, and all attempts so far. */
export interface SentTo {
  readonly channel: string;
  readonly upstreamModel: string;
  readonly attempts: readonly AttemptRecord[];
  /** True if an earlier attempt may have made an image, which is so only with `retryUnsafe`. Default false. */
  readonly isRepeated?: boolean;
  /** What the channel costs the operator. */
  readonly costs?: ChannelCosts | undefined;
  /** What became of the marks of the images. `undefined` if images are not marked. */
  readonly marks?: RecordedMarks | undefined;
}

/** What became of the marks of the images of a call. */
export interface RecordedMarks {
  /**
   * Returns an entry for each image of the response, and for those that were withheld.
   *
   * @param images the number of images
   */
  list(images: number): readonly ImageMark[];
}

/** How a call that reached a provider ended. */
export interface Outcome {
  readonly status: number;
  readonly errorCode?: string | undefined;
  readonly images: number;
  /** What the response says about each image that was made, in order. Default: nothing is known. */
  readonly made?: readonly MadeImage[] | undefined;
  /** How many calls of the provider made an image, if one request needs several. Default 1. */
  readonly callsWithImages?: number | undefined;
  readonly usage?: Usage | undefined;
  /** True if `usage` lacks the tokens of some images. Default false. */
  readonly hasUnknownTokens?: boolean | undefined;
  readonly upstreamRequestId?: string | undefined;
  /** The ids of all upstream calls, if there were several. */
  readonly upstreamRequestIds?: readonly string[] | undefined;
  /** The report before it was cut, if `usage` was already cut, see `mergeOutcomes`. */
  readonly reportedUsage?: Usage | undefined;
  /**
   * True if the upstream response was read and parsed to its end, so that images it does not report were not made.
   * Default false: an image may have been made even if none was reported, as after a timeout.
   */
  readonly isConclusive?: boolean | undefined;
  /** True if images may have been made and their number is unknown. `billing.onLost` then says what is charged. */
  readonly isUnknown?: boolean | undefined;
  /** The upstream calls, if there were several and a channel has costs. */
  readonly calls?: readonly EndedCall[] | undefined;
}

/** One upstream call of a request, and how it ended. */
export interface EndedCall {
  readonly sentTo: SentTo;
  readonly outcome: Outcome;
  /** What the call could make. */
  readonly bounds: RequestBounds;
}

/** What a channel costs the operator. It belongs to the options with which a call was sent. */
export interface ChannelCosts {
  /** Returns what the calls of a request for a service model cost, on this channel and on others. */
  sum(model: string, calls: readonly EndedCall[]): RecordedCosts;
  /** Returns what a call of this channel cost. */
  find(model: string, call: EndedCall): CallCost;
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
