import type { Channel } from "./channel.js";

/**
 * The channel to try next: among those of the highest priority, one by chance in proportion to its
 * weight. `undefined` when none is left.
 *
 * @param random a number from 0 up to, not including, 1
 */
export function selectChannel(candidates: readonly Channel[], random: () => number): Channel | undefined {
  const priority = Math.max(...candidates.map((channel) => channel.priority));
  const tier = candidates.filter((channel) => channel.priority === priority);
  const total = tier.reduce((sum, channel) => sum + channel.weight, 0);
  let point = random() * total;
  for (const channel of tier) {
    point -= channel.weight;
    if (point < 0) return channel;
  }
  return tier.at(-1);
}
