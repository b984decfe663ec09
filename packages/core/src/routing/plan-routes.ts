import type { AttemptFailure } from "../upstream/attempt-failure.js";
import type { Channel, ChannelKey } from "./channel.js";
import type { ChannelHealth } from "./channel-health.js";
import { scopeOf } from "./failure-scope.js";
import { selectChannel } from "./select-channel.js";

/** Where an attempt goes. */
export interface Route {
  readonly channel: Channel;
  readonly key: ChannelKey;
}

/** Where the attempts of one request go, one after another. */
export interface RoutePlan {
  /** `undefined` when nothing is left that may be tried. */
  next(): Route | undefined;
  /** After a failure of the key the channel's other keys may be tried, those that are ready; after another, none of them. */
  failed(route: Route, kind: AttemptFailure["kind"]): void;
}

/** What a plan depends on beside the channels. */
export interface RouteContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly health: ChannelHealth;
}

interface Tried {
  readonly keys: Set<ChannelKey>;
  readonly channels: Set<Channel>;
}

export function planRoutes(channels: readonly Channel[], { now, random, health }: RouteContext): RoutePlan {
  let candidates = channels;
  // Nearly always the first channel answers.
  let tried: Tried | undefined;

  const untriedKeys = ({ keys }: Channel): readonly ChannelKey[] =>
    tried === undefined ? keys : keys.filter((key) => !tried?.keys.has(key));

  const readyAt = (channel: Channel): number => {
    const own = health.readyAt(channel.healthId);
    if (channel.keys.length === 1) return own;
    const times = untriedKeys(channel).map(({ healthId }) => health.readyAt(healthId));
    return Math.max(own, Math.min(...times));
  };

  return {
    next() {
      const time = now();
      const open =
        tried === undefined
          ? candidates
          : candidates.filter((channel) => !tried?.channels.has(channel) || readyAt(channel) <= time);
      const channel = selectChannel(open, { now: time, random, readyAt });
      const key = channel && selectKey(untriedKeys(channel), time, health);
      return channel && key && { channel, key };
    },
    failed({ channel, key }, kind) {
      tried ??= { keys: new Set(), channels: new Set() };
      tried.keys.add(key);
      tried.channels.add(channel);
      const isSpent = channel.keys.length === 1 || scopeOf(kind) === "channel";
      if (isSpent) candidates = candidates.filter((other) => other !== channel);
    },
  };
}

/** Of the keys that are ready the one that waited longest for its turn; where none is, the one that will be first. */
function selectKey(keys: readonly ChannelKey[], now: number, health: ChannelHealth): ChannelKey | undefined {
  const rank = ({ healthId }: ChannelKey): readonly [number, number] => [
    Math.max(now, health.readyAt(healthId)),
    health.turnOf(healthId),
  ];
  return keys.reduce<ChannelKey | undefined>((best, key) => {
    if (best === undefined) return key;
    const [time, turn] = rank(key);
    const [bestTime, bestTurn] = rank(best);
    const isBetter = time === bestTime ? turn < bestTurn : time < bestTime;
    return isBetter ? key : best;
  }, undefined);
}
