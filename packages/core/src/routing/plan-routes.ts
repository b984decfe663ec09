import type { AttemptFailure } from "../upstream/attempt-failure.js";
import type { Channel, ChannelKey } from "./channel.js";
import type { ChannelHealth } from "./channel-health.js";
import { scopeOf } from "./failure-scope.js";
import { type SelectionContext, selectChannel } from "./select-channel.js";

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

export function planRoutes(channels: readonly Channel[], context: RouteContext): RoutePlan {
  return new OpenPlan(channels, context);
}

interface Tried {
  readonly keys: Set<ChannelKey>;
  readonly channels: Set<Channel>;
}

/** A class, as each request has one. */
class OpenPlan implements RoutePlan, SelectionContext {
  /** When the next route is chosen. */
  now = 0;
  readonly #context: RouteContext;
  #candidates: readonly Channel[];
  /** Nearly always the first channel answers. */
  #tried: Tried | undefined;

  constructor(channels: readonly Channel[], context: RouteContext) {
    this.#candidates = channels;
    this.#context = context;
  }

  next(): Route | undefined {
    this.now = this.#context.now();
    const channel = selectChannel(this.#open(), this);
    const key = channel && this.#selectKey(this.#untriedKeys(channel));
    return channel && key && { channel, key };
  }

  failed({ channel, key }: Route, kind: AttemptFailure["kind"]): void {
    this.#tried ??= { keys: new Set(), channels: new Set() };
    this.#tried.keys.add(key);
    this.#tried.channels.add(channel);
    const isSpent = channel.keys.length === 1 || scopeOf(kind) === "channel";
    if (isSpent) this.#candidates = this.#candidates.filter((other) => other !== channel);
  }

  random(): number {
    return this.#context.random();
  }

  readyAt(channel: Channel): number {
    const { health } = this.#context;
    const own = health.readyAt(channel.healthId);
    if (channel.keys.length === 1) return own;
    const times = this.#untriedKeys(channel).map(({ healthId }) => health.readyAt(healthId));
    return Math.max(own, Math.min(...times));
  }

  #open(): readonly Channel[] {
    const tried = this.#tried?.channels;
    if (tried === undefined) return this.#candidates;
    return this.#candidates.filter((channel) => !tried.has(channel) || this.readyAt(channel) <= this.now);
  }

  #untriedKeys({ keys }: Channel): readonly ChannelKey[] {
    const tried = this.#tried?.keys;
    return tried === undefined ? keys : keys.filter((key) => !tried.has(key));
  }

  /** Of the keys that are ready the one that waited longest for its turn; where none is, the one that will be first. */
  #selectKey(keys: readonly ChannelKey[]): ChannelKey | undefined {
    let best: ChannelKey | undefined;
    for (const key of keys) if (best === undefined || this.#isBetter(key, best)) best = key;
    return best;
  }

  #isBetter(key: ChannelKey, best: ChannelKey): boolean {
    const { health } = this.#context;
    const time = Math.max(this.now, health.readyAt(key.healthId));
    const bestTime = Math.max(this.now, health.readyAt(best.healthId));
    if (time !== bestTime) return time < bestTime;
    return health.turnOf(key.healthId) < health.turnOf(best.healthId);
  }
}
