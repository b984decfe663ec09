import type { AttemptCounts, AttemptHistory, ChannelError } from "./attempt-history.js";
import { type Channel, readModelHealthId } from "./channel.js";
import type { ChannelHealth } from "./health.js";
import type { ChannelPause, PausedChannels } from "./paused.js";

/** The state of a channel, a key or a model. */
interface HealthStatus {
  /** `cooling`: not used until `nextTryAt`. `probing`: one request is finding out whether it works again. */
  readonly state: "ready" | "cooling" | "probing";
  /**
   * The reason for the cooldown. Of a key or a model: `credential`, `rate` or `quota`. Of a model: `model`. Of a
   * channel: `unreachable`, `overload`, `server`, `timeout` or `broken`.
   */
  readonly reason?: string;
  /**
   * When it stopped working or began to work again; further cooldowns in between do not change it. ISO 8601, UTC.
   * Absent if it has worked since this process began.
   */
  readonly since?: string;
  /** ISO 8601, UTC. */
  readonly nextTryAt?: string;
}

/** The state of one of several keys. */
export interface KeyStatus extends HealthStatus {
  /** Its index in `apiKey`, from 0. */
  readonly index: number;
}

/** The state of a model that cools on a channel: the provider refuses it, or its limit is reached. */
export interface ModelStatus extends HealthStatus {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** If the channel has several keys: the index in `apiKey` of the key that the model is refused with, from 0. */
  readonly key?: number;
}

/** The state of a channel. If all of its keys cool, this is the state of the key that is tried next. */
export interface ChannelState extends Omit<HealthStatus, "state"> {
  readonly id: string;
  /** As for keys and models, or `paused`: by an operator. Then `since` and `nextTryAt` are those of the pause. */
  readonly state: HealthStatus["state"] | "paused";
  /** Who paused it, and until when. Present if it is paused. */
  readonly pause?: ChannelPause;
  /** Present if the channel has several keys. */
  readonly keys?: readonly KeyStatus[];
  /** The models that cool on this channel while it serves its other models. Absent if there are none. */
  readonly models?: readonly ModelStatus[];
}

/** The state of a channel, and what became of its latest attempts in this process. */
export interface ChannelStatus extends ChannelState {
  /** The last errors in this process, the newest first. At most 5. */
  readonly errors: readonly ChannelError[];
  /** The last hour of this process in parts of five minutes, the oldest first. The last one has not ended. */
  readonly lastHour: readonly AttemptCounts[];
}

/** What the states of channels are read from. */
export interface ChannelStateParts {
  readonly health: ChannelHealth;
  readonly pauses: Pick<PausedChannels, "find">;
}

/** What the status of channels is read from. */
export interface ChannelStatusParts extends ChannelStateParts {
  readonly history: Pick<AttemptHistory, "describe">;
}

/** Returns the states of the channels with their latest attempts, in the order of the options. */
export function describeChannels(channels: readonly Channel[], parts: ChannelStatusParts): ChannelStatus[] {
  return findChannelStates(channels, parts).map((state) => describeAttempts(state, parts));
}

/** Returns the state of one channel with its latest attempts. */
export function describeChannel(channel: Channel, parts: ChannelStatusParts): ChannelStatus {
  return describeAttempts(findState(channel, groupModels(parts.health), parts), parts);
}

/** Returns the states of the channels, in the order of the options. */
export function findChannelStates(channels: readonly Channel[], parts: ChannelStateParts): ChannelState[] {
  const modelIds = groupModels(parts.health);
  return channels.map((channel) => findState(channel, modelIds, parts));
}

function describeAttempts(state: ChannelState, { history }: ChannelStatusParts): ChannelStatus {
  return { ...state, ...history.describe(state.id) };
}

/** The health ids of the models that cool, by the health id of the key. */
type CoolingModels = ReadonlyMap<string | undefined, readonly string[]>;

function groupModels(health: ChannelHealth): CoolingModels {
  return Map.groupBy(health.coolingIds(), (id) => readModelHealthId(id)?.keyHealthId);
}

function findState(
  channel: Channel,
  modelIds: CoolingModels,
  { health, pauses }: ChannelStateParts,
): ChannelState {
  const models = channel.keys.flatMap((key) => {
    const ids = modelIds.get(key.healthId) ?? [];
    const index = channel.keys.length === 1 ? {} : { key: key.index };
    return ids.map((id) => ({
      upstreamModel: readModelHealthId(id)?.upstreamModel ?? "",
      ...index,
      ...describe(id, health),
    }));
  });
  const state = withPause(findHealth(channel, health), pauses.find(channel.id));
  return models.length === 0 ? state : { ...state, models };
}

function withPause(state: ChannelState, pause: ChannelPause | undefined): ChannelState {
  if (pause === undefined) return state;
  const { id, keys } = state;
  return {
    id,
    state: "paused",
    since: pause.since,
    ...(pause.until !== undefined && { nextTryAt: pause.until }),
    pause,
    ...(keys !== undefined && { keys }),
  };
}

function findHealth(channel: Channel, health: ChannelHealth): ChannelState {
  const { id, healthId, keys } = channel;
  const own = describe(healthId, health);
  if (keys.length === 1) return { id, ...own };
  const ofKeys = keys.map((key) => ({ index: key.index, ...describe(key.healthId, health) }));
  if (own.state !== "ready") return { id, ...own, keys: ofKeys };
  const { index: _index, ...best } = ofKeys.reduce((a, b) => (timeOf(b) < timeOf(a) ? b : a));
  return { id, ...best, keys: ofKeys };
}

function describe(healthId: string, health: ChannelHealth): HealthStatus {
  const cooldown = health.cooldownOf(healthId);
  const changedAt = health.changedAt(healthId);
  const since = changedAt === undefined ? {} : { since: new Date(changedAt).toISOString() };
  if (cooldown === undefined) return { state: "ready", ...since };
  return {
    state: cooldown.isProbed ? "probing" : "cooling",
    reason: cooldown.reason,
    ...since,
    nextTryAt: new Date(cooldown.until).toISOString(),
  };
}

/** Ready entries come first. ISO times sort like their strings. */
function timeOf({ nextTryAt = "" }: HealthStatus): string {
  return nextTryAt;
}
