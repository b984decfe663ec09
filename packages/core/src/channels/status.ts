import { type Channel, readModelHealthId } from "./channel.js";
import type { ChannelHealth } from "./health.js";

/** The state of a channel, a key or a model. */
interface HealthStatus {
  /** `cooling`: not used until `nextTryAt`. `probing`: one request is finding out whether it works again. */
  readonly state: "ready" | "cooling" | "probing";
  /**
   * The reason for the cooldown. Of a key or a model: `credential`, `rate` or `quota`. Of a model: `model`. Of a
   * channel: `unreachable`, `overload`, `server`, `timeout` or `broken`.
   */
  readonly reason?: string;
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
export interface ChannelStatus extends HealthStatus {
  readonly id: string;
  /** Present if the channel has several keys. */
  readonly keys?: readonly KeyStatus[];
  /** The models that cool on this channel while it serves its other models. Absent if there are none. */
  readonly models?: readonly ModelStatus[];
}

/** Returns the states of the channels, in the order of the options. */
export function describeChannels(channels: readonly Channel[], health: ChannelHealth): ChannelStatus[] {
  const modelIds = Map.groupBy(health.coolingIds(), (id) => readModelHealthId(id)?.keyHealthId);
  return channels.map((channel) => {
    const models = channel.keys.flatMap((key) => {
      const ids = modelIds.get(key.healthId) ?? [];
      const index = channel.keys.length === 1 ? {} : { key: key.index };
      return ids.map((id) => ({
        upstreamModel: readModelHealthId(id)?.upstreamModel ?? "",
        ...index,
        ...describe(id, health),
      }));
    });
    const status = describeChannel(channel, health);
    return models.length === 0 ? status : { ...status, models };
  });
}

function describeChannel(channel: Channel, health: ChannelHealth): ChannelStatus {
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
  if (cooldown === undefined) return { state: "ready" };
  return {
    state: cooldown.isProbed ? "probing" : "cooling",
    reason: cooldown.reason,
    nextTryAt: new Date(cooldown.until).toISOString(),
  };
}

/** Ready entries come first. ISO times sort like their strings. */
function timeOf({ nextTryAt = "" }: HealthStatus): string {
  return nextTryAt;
}
