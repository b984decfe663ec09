import type { ChannelPause, ChannelState, HealthStatus } from "../contract/channel-state.js";
import type { AttemptCounts, AttemptHistory, ChannelError } from "./attempt-history.js";
import { type Channel, readModelHealthId } from "./channel.js";
import type { ChannelHealth } from "./health.js";
import type { Pauses } from "./pauses.js";

/** The state of a channel, and what became of its latest attempts in this process. */
export interface ChannelStatus extends ChannelState {
  /** The last errors in this process, the newest first. At most 5. */
  readonly errors: readonly ChannelError[];
  /** The last hour of this process in parts of five minutes, the oldest first. The last one has not ended. */
  readonly lastHour: readonly AttemptCounts[];
}

/** What the status of channels is read from. */
export interface ChannelStatusParts {
  readonly health: ChannelHealth;
  /** `undefined`: no channel can be paused. */
  readonly pauses: Pick<Pauses, "find"> | undefined;
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
export function findChannelStates(
  channels: readonly Channel[],
  parts: Omit<ChannelStatusParts, "history">,
): ChannelState[] {
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
  { health, pauses }: Omit<ChannelStatusParts, "history">,
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
  const state = withPause(findHealth(channel, health), pauses?.find(channel.id));
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
