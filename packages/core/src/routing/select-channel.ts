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
  const ready = candidates.filter((channel) => context.readyAt(channel) <= context.now);
  if (ready.length === 0) return findLeastBad(candidates, context);
  const priority = Math.max(...ready.map((channel) => channel.priority));
  const tier = ready.filter((channel) => channel.priority === priority);
  const total = tier.reduce((sum, channel) => sum + channel.weight, 0);
  let point = context.random() * total;
  for (const channel of tier) {
    point -= channel.weight;
    if (point < 0) return channel;
  }
  return tier.at(-1);
}

function findLeastBad(candidates: readonly Channel[], { readyAt }: SelectionContext): Channel | undefined {
  return candidates.reduce<Channel | undefined>(
    (best, channel) => (best === undefined || readyAt(channel) < readyAt(best) ? channel : best),
    undefined,
  );
}
