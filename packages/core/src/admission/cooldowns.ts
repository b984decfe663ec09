import type { Cooldown } from "../image-request.js";
import { createSweeper } from "./sweeper.js";

/** Channels that are left alone, in this process. */
export interface Cooldowns {
  /** Those of the channels that cool. */
  find(channels: readonly string[], now: number): Record<string, Cooldown>;
  /** With `undefined` the channel is well. */
  set(channel: string, cooldown: Cooldown | undefined, now: number): void;
}

const NONE: Record<string, Cooldown> = Object.freeze({});

/** No channel cools at first. */
export function createCooldowns(): Cooldowns {
  const byChannel = new Map<string, Cooldown>();
  const drop = (channel: string): boolean => byChannel.delete(channel);
  const sweep = createSweeper(byChannel, hasEnded, drop);
  return {
    find(channels, now) {
      if (byChannel.size === 0) return NONE;
      const cooling: [string, Cooldown][] = [];
      for (const channel of channels) {
        const cooldown = byChannel.get(channel);
        if (cooldown !== undefined && !hasEnded(cooldown, now)) cooling.push([channel, cooldown]);
      }
      // Unlike an assignment this makes a field of any name, `__proto__` too.
      return Object.fromEntries(cooling);
    },
    set(channel, cooldown, now) {
      sweep(2, now);
      if (cooldown === undefined) drop(channel);
      else byChannel.set(channel, cooldown);
    },
  };
}

function hasEnded({ until }: Cooldown, now: number): boolean {
  return until <= now;
}
