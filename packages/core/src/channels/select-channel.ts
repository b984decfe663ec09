import type { Channel } from "./channel.js";

/** What a choice among channels depends on beside the channels. */
export interface SelectionContext {
  /**
   * A channel may be chosen if it is ready at this time, in milliseconds since 1970. 0: only channels that are known
   * to work.
   */
  readonly readyBy: number;
  /** A number from 0 up to, not including, 1. */
  random(): number;
  /** Milliseconds since 1970 from which a channel may be tried; 0 for one that is known to work. */
  readyAt(channel: Channel): number;
}

/**
 * The channel to try next: of the highest priority that has one ready, by chance in proportion to
 * the weights. `undefined` when none is ready.
 */
export function selectReady(candidates: readonly Channel[], context: SelectionContext): Channel | undefined {
  // One that is not ready is drawn again among those that are, which leaves the proportions as they are.
  const drawn = draw(findFirstTier(candidates), context.random());
  if (drawn === undefined || context.readyAt(drawn) <= context.readyBy) return drawn;
  const ready = findTier(candidates, context);
  return ready.channels.length === 0 ? undefined : draw(ready, context.random());
}

/** Channels of one priority, and how far the weights of the first of them, of the first two, … reach together. */
interface Tier {
  readonly channels: readonly Channel[];
  readonly sums: readonly number[];
}

/** @param chance from 0 up to, not including, 1 */
function draw({ channels, sums }: Tier, chance: number): Channel | undefined {
  const point = chance * (sums.at(-1) ?? 0);
  let low = 0;
  let high = sums.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) > point) high = middle;
    else low = middle + 1;
  }
  return channels[low];
}

const firstTiers = new WeakMap<readonly Channel[], Tier>();

/** Whether ready or not. Worked out once for the channels of a model, of which there may be hundreds. */
function findFirstTier(candidates: readonly Channel[]): Tier {
  let tier = firstTiers.get(candidates);
  if (tier === undefined) {
    tier = findTier(candidates, { readyBy: 0, readyAt: () => 0 });
    firstTiers.set(candidates, tier);
  }
  return tier;
}

/** The ready channels of the highest priority. */
function findTier(
  candidates: readonly Channel[],
  context: Pick<SelectionContext, "readyBy" | "readyAt">,
): Tier {
  let channels: Channel[] = [];
  let sums: number[] = [];
  let highest = -Infinity;
  for (const channel of candidates) {
    if (channel.priority < highest || context.readyAt(channel) > context.readyBy) continue;
    if (channel.priority > highest) {
      highest = channel.priority;
      channels = [];
      sums = [];
    }
    sums.push((sums.at(-1) ?? 0) + channel.weight);
    channels.push(channel);
  }
  return { channels, sums };
}
