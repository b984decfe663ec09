import type { Channel } from "./channel.js";

/** What a choice among channels depends on beside the channels. */
export interface SelectionContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  /** Milliseconds since 1970 from which a channel may be tried; 0 for one that is well. */
  readonly readyAt: (channel: Channel) => number;
}

/**
 * The channel to try next: of the highest priority that has one ready, by chance in proportion to
 * the weights. Where all are cooling it is the one that will be ready first: trying costs less than
 * refusing. `undefined` only without candidates.
 */
export function selectChannel(
  candidates: readonly Channel[],
  context: SelectionContext,
): Channel | undefined {
  const { tier, total } = findTier(candidates, context);
  if (tier.length === 0) return findLeastBad(candidates, context);
  let point = context.random() * total;
  for (const channel of tier) {
    point -= channel.weight;
    if (point < 0) return channel;
  }
  return tier.at(-1);
}

/** The ready channels of the highest priority, and their weights together; in one pass, for there may be hundreds. */
function findTier(
  candidates: readonly Channel[],
  { now, readyAt }: SelectionContext,
): { readonly tier: readonly Channel[]; readonly total: number } {
  let tier: Channel[] = [];
  let total = 0;
  let highest = -Infinity;
  for (const channel of candidates) {
    if (channel.priority < highest || readyAt(channel) > now) continue;
    if (channel.priority > highest) {
      highest = channel.priority;
      tier = [];
      total = 0;
    }
    tier.push(channel);
    total += channel.weight;
  }
  return { tier, total };
}

function findLeastBad(candidates: readonly Channel[], { readyAt }: SelectionContext): Channel | undefined {
  return candidates.reduce<Channel | undefined>(
    (best, channel) => (best === undefined || readyAt(channel) < readyAt(best) ? channel : best),
    undefined,
  );
}
