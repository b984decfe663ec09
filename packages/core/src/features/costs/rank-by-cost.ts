import { type RequestBounds, toRequestBounds } from "../../billing/charge.js";
import type { Channel } from "../../channels/channel.js";
import type { RankChannels } from "../../channels/select.js";
import { compareDecimals, type Decimal } from "../../util/decimal.js";
import { haveSameFields } from "../../util/json.js";

/** The options of `costs`. */
export interface CostsOptions {
  /**
   * Which of the usable channels of the highest priority gets a request. `"priority"`: all of them, by their weights. `"cost"`: those
   * with the lowest cost, as far as it is known, by their weights. Default `"priority"`.
   */
  readonly routing?: "priority" | "cost" | undefined;
}

interface CostRanking {
  readonly model: string;
  readonly bounds: RequestBounds;
  readonly ranks: ReadonlyMap<Channel, number>;
}

/**
 * Creates the order of `routing: "cost"`: by priority, and within a priority by the most that the call can cost. Channels whose
 * cost is not known come last in their priority.
 */
export function createCostRanking(): RankChannels {
  // The last one of each list of channels, because most requests for a model have the same bounds.
  const last = new WeakMap<readonly Channel[], CostRanking>();
  return ({ name: model, channels }, request) => {
    const bounds = toRequestBounds(request);
    const known = last.get(channels);
    if (known !== undefined && known.model === model && haveSameFields(known.bounds, bounds))
      return known.ranks;
    const ranks = rankChannels(channels, (channel) => channel.costs?.estimate(model, bounds));
    last.set(channels, { model, bounds, ranks });
    return ranks;
  };
}

function rankChannels(
  channels: readonly Channel[],
  estimate: (channel: Channel) => Decimal | undefined,
): ReadonlyMap<Channel, number> {
  const ordered = channels.map((channel) => ({ channel, cost: estimate(channel) })).toSorted(comparePlaces);
  const ranks = new Map<Channel, number>();
  let [before] = ordered;
  let rank = 0;
  for (const place of ordered) {
    if (before !== undefined && comparePlaces(before, place) !== 0) rank -= 1;
    before = place;
    ranks.set(place.channel, rank);
  }
  return ranks;
}

interface PlacedChannel {
  readonly channel: Channel;
  readonly cost: Decimal | undefined;
}

/** Negative if `one` is tried first. */
function comparePlaces(one: PlacedChannel, other: PlacedChannel): number {
  return other.channel.priority - one.channel.priority || compareCosts(one.cost, other.cost);
}

function compareCosts(one: Decimal | undefined, other: Decimal | undefined): number {
  if (one === undefined || other === undefined)
    return Number(one === undefined) - Number(other === undefined);
  return compareDecimals(one, other);
}
