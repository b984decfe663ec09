import type { AttemptFailure } from "../families/failure.js";
import type { ImageRequest } from "../types.js";
import { type Channel, type ChannelKey, createModelHealthId, type Route } from "./channel.js";
import { type ChannelHealth, isForAllKeys, scopeOf } from "./health.js";
import { isRefusal } from "./health-record.js";
import type { Pauses } from "./pauses.js";

/** The routes of the attempts of one call, one after another. */
export interface RoutePlan {
  /** Returns the next route, or `undefined` if no other route may be tried. */
  next(): Route | undefined;
  /**
   * Call when the attempt of a route failed. After a failure of the key, the channel's other keys may be tried; after
   * any other failure, none of them. After a failed probe, only routes that are known to work may be tried.
   */
  failed(route: Route, failure: Pick<AttemptFailure, "kind" | "scope">, wasProbe: boolean): void;
  /** Call for a channel that cannot take the request. None of its keys is tried. */
  skip(channel: Channel): void;
}

/** The dependencies of a plan. */
export interface RouteContext {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly health: ChannelHealth;
  readonly pauses: Pauses | undefined;
  /** `undefined`: the rank of a channel is its priority. */
  readonly rankChannels?: RankChannels | undefined;
}

/**
 * Returns the rank of each channel of a call. Channels of a rank share the traffic by their weights, and those with the highest
 * number are tried first.
 */
export type RankChannels = (model: RoutedModel, request: ImageRequest) => ReadonlyMap<Channel, number>;

/** The service model of a call, and the channels that serve it. */
interface RoutedModel {
  readonly name: string;
  readonly channels: readonly Channel[];
}

/**
 * Plans the attempts of one call.
 *
 * - The first attempt uses a route that is known to work, or probes a route whose cooldown is over. It is a probe
 *   only if another route is known to work, or if none is.
 * - A later attempt uses a route that is known to work. If no such route is left, it may use another one, unless the
 *   request has already made a probe.
 * - If all routes are cooling, the one closest to recovery is tried: trying costs less than refusing.
 * - A channel that an operator has paused is not used, also if it is paused during the call.
 */
export function planRoutes(model: RoutedModel, context: RouteContext, request: ImageRequest): RoutePlan {
  return new OpenPlan(model, context, context.rankChannels?.(model, request));
}

/** Plans one attempt. */
export function planOnly(route: Route): RoutePlan {
  const routes = [route];
  return { next: () => routes.pop(), failed() {}, skip() {} };
}

interface Tried {
  readonly keys: Set<ChannelKey>;
  readonly channels: Set<Channel>;
  hasProbed: boolean;
}

/** A class, because each of thousands of waiting calls has one. */
class OpenPlan implements RoutePlan, SelectionContext {
  readonly #model: RoutedModel;
  readonly #context: RouteContext;
  /** Channels that may still be tried. */
  #candidates: readonly Channel[];
  /** `undefined` until an attempt has failed. */
  #tried: Tried | undefined;
  readonly ranks: ReadonlyMap<Channel, number> | undefined;
  readyBy = 0;

  constructor(model: RoutedModel, context: RouteContext, ranks: ReadonlyMap<Channel, number> | undefined) {
    this.#model = model;
    this.#context = context;
    this.ranks = ranks;
    this.#candidates = model.channels;
  }

  next(): Route | undefined {
    const { pauses } = this.#context;
    const now = this.#context.now();
    if (pauses !== undefined) this.#candidates = pauses.withoutPaused(this.#candidates);
    return this.#tried === undefined ? this.#first(now) : this.#another(now, this.#tried);
  }

  failed({ channel, key }: Route, failure: Pick<AttemptFailure, "kind" | "scope">, wasProbe: boolean): void {
    this.#tried ??= { keys: new Set(), channels: new Set(), hasProbed: false };
    this.#tried.keys.add(key);
    this.#tried.channels.add(channel);
    this.#tried.hasProbed ||= wasProbe;
    const scope = scopeOf(failure);
    const isSpent =
      channel.keys.length === 1 || scope === "channel" || (scope === "model" && isForAllKeys(failure));
    if (isSpent) this.skip(channel);
  }

  skip(channel: Channel): void {
    this.#candidates = this.#candidates.filter((other) => other !== channel);
  }

  #first(now: number): Route | undefined {
    const channel = this.#select(now);
    if (channel === undefined) return this.#mostPromising(this.#candidates, now);
    const isKnown =
      this.readyAt(channel) === 0 || this.#candidates.some((other) => this.readyAt(other) === 0);
    return isKnown ? this.#toRoute(channel, now) : this.#mostPromising(this.#candidates, now);
  }

  #another(now: number, tried: Tried): Route | undefined {
    const known = this.#select(0);
    if (known !== undefined) return this.#toRoute(known, 0);
    if (tried.hasProbed) return undefined;
    const due = this.#select(now);
    if (due !== undefined) return this.#toRoute(due, now);
    const untried = this.#candidates.filter((channel) => !tried.channels.has(channel));
    return this.#mostPromising(untried, now);
  }

  #select(readyBy: number): Channel | undefined {
    this.readyBy = readyBy;
    return selectReady(this.#candidates, this);
  }

  random(): number {
    return this.#context.random();
  }

  /** The time from which the channel may be tried with a key that was not tried yet. */
  readyAt(channel: Channel): number {
    const { health } = this.#context;
    const upstreamModel = this.#upstreamModelOf(channel);
    let ofKeys = Number.POSITIVE_INFINITY;
    for (const key of channel.keys) {
      if (this.#tried?.keys.has(key) !== true)
        ofKeys = Math.min(ofKeys, health.routeReadyAt(key.healthId, upstreamModel));
    }
    return channel.keys.length === 1 ? ofKeys : Math.max(ofKeys, health.readyAt(channel.healthId));
  }

  /** Chooses the ready key that has not been used for the longest time. */
  #toRoute(channel: Channel, readyBy: number): Route | undefined {
    const { health } = this.#context;
    const upstreamModel = this.#upstreamModelOf(channel);
    let best: ChannelKey | undefined;
    for (const key of channel.keys) {
      if (this.#tried?.keys.has(key) === true) continue;
      if (health.routeReadyAt(key.healthId, upstreamModel) > readyBy) continue;
      if (best === undefined || health.lastUseOf(key.healthId) < health.lastUseOf(best.healthId)) best = key;
    }
    return best && { channel, key: best, upstreamModel };
  }

  /** Chooses the route that is most likely to work, if none is known to work. */
  #mostPromising(channels: readonly Channel[], now: number): Route | undefined {
    let best: Prospect | undefined;
    for (const channel of channels) {
      const upstreamModel = this.#upstreamModelOf(channel);
      for (const key of channel.keys) {
        if (this.#tried?.keys.has(key) === true) continue;
        const prospect = assess({ channel, key, upstreamModel }, this.#context.health, now);
        if (best === undefined || compareProspects(prospect, best, this.ranks) < 0) best = prospect;
      }
    }
    return best?.route;
  }

  #upstreamModelOf(channel: Channel): string {
    return channel.toUpstreamModel(this.#model.name) ?? this.#model.name;
  }
}

/** How likely a route is to work, if no route is known to work. */
interface Prospect {
  readonly route: Route;
  /** Lower is better; see {@link assess}. */
  readonly rank: number;
  /** When the last of its cooldowns ends, in milliseconds since 1970. */
  readonly until: number;
  readonly lastUse: number;
}

const COOLING_RANK = 4;

/**
 * Ranks a route. A route whose cooldown is over is better than one that is cooling. Among these, a route that was not
 * refused is better, because a refused key is refused until the operator changes something. After that, a route that
 * no other request is probing is better.
 */
function assess(route: Route, health: ChannelHealth, now: number): Prospect {
  const { channel, key, upstreamModel } = route;
  const ids = [channel.healthId, key.healthId, createModelHealthId(key.healthId, upstreamModel)];
  const cooldowns = ids.map((id) => health.cooldownOf(id)).filter((cooldown) => cooldown !== undefined);
  const until = Math.max(0, ...cooldowns.map((cooldown) => cooldown.until));
  const isRefused = cooldowns.some(({ reason }) => isRefusal(reason));
  const isProbed = cooldowns.some((cooldown) => cooldown.isProbed);
  const rank = until > now ? COOLING_RANK : (isRefused ? 2 : 0) + (isProbed ? 1 : 0);
  return { route, rank, until, lastUse: health.lastUseOf(key.healthId) };
}

/** Negative when `a` is better. */
function compareProspects(a: Prospect, b: Prospect, ranks: SelectionContext["ranks"]): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  const byTime = a.rank === COOLING_RANK ? a.until - b.until : 0;
  const byRank = rankOf(b.route.channel, ranks) - rankOf(a.route.channel, ranks);
  return byTime || byRank || a.lastUse - b.lastUse;
}

/** The dependencies of a choice among channels. */
export interface SelectionContext {
  /**
   * A channel may be chosen if it is ready at this time, in milliseconds since 1970. 0: only channels that are known
   * to work.
   */
  readonly readyBy: number;
  /** `undefined`: the rank of a channel is its priority. */
  readonly ranks?: ReadonlyMap<Channel, number> | undefined;
  /** A number from 0 up to, not including, 1. */
  random(): number;
  /** Milliseconds since 1970 from which a channel may be tried; 0 for one that is known to work. */
  readyAt(channel: Channel): number;
}

const rankOf = (channel: Channel, ranks: SelectionContext["ranks"]): number =>
  ranks?.get(channel) ?? channel.priority;

/**
 * Chooses a ready channel of the highest rank that has one, at random in proportion to the weights. Returns
 * `undefined` if none is ready.
 *
 * Of hundreds of channels this looks at one: it draws from all channels of the highest priority, and looks at the
 * others only if the drawn one is not ready. Drawing again among the ready ones does not change their proportions. With
 * 500 channels this saves most of the CPU time that a call needs. The simple version is `draw(findTier(…), random())`.
 */
export function selectReady(candidates: readonly Channel[], context: SelectionContext): Channel | undefined {
  const drawn = draw(findFirstTier(candidates, context.ranks), context.random());
  if (drawn === undefined || context.readyAt(drawn) <= context.readyBy) return drawn;
  const ready = findTier(candidates, context);
  return ready.channels.length === 0 ? undefined : draw(ready, context.random());
}

/** Channels of one rank, and the sum of the weights up to each of them. */
interface RankTier {
  readonly channels: readonly Channel[];
  readonly sums: readonly number[];
}

/** @param chance from 0 up to, not including, 1 */
function draw({ channels, sums }: RankTier, chance: number): Channel | undefined {
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

const ALL_READY = { readyBy: 0, readyAt: () => 0 };

const firstTiers = new WeakMap<readonly Channel[], RankTier>();

/** Returns the channels of the highest rank, ready or not. Computed once for each list of channels without ranks of a call. */
function findFirstTier(candidates: readonly Channel[], ranks: SelectionContext["ranks"]): RankTier {
  if (ranks !== undefined) return findTier(candidates, { ...ALL_READY, ranks });
  let tier = firstTiers.get(candidates);
  if (tier === undefined) {
    tier = findTier(candidates, ALL_READY);
    firstTiers.set(candidates, tier);
  }
  return tier;
}

/** The ready channels of the highest rank. */
function findTier(
  candidates: readonly Channel[],
  context: Pick<SelectionContext, "readyBy" | "readyAt" | "ranks">,
): RankTier {
  let channels: Channel[] = [];
  let sums: number[] = [];
  let highest = -Infinity;
  for (const channel of candidates) {
    const rank = rankOf(channel, context.ranks);
    if (rank < highest || context.readyAt(channel) > context.readyBy) continue;
    if (rank > highest) {
      highest = rank;
      channels = [];
      sums = [];
    }
    sums.push((sums.at(-1) ?? 0) + channel.weight);
    channels.push(channel);
  }
  return { channels, sums };
}
