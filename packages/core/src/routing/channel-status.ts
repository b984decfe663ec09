import type { Channel } from "./channel.js";
import type { ChannelHealth } from "./channel-health.js";
import { readModelHealthId } from "./health-id.js";

/** How a channel, or one of its keys, is. */
interface HealthStatus {
  /** `cooling`: left alone until `nextTryAt`. `probing`: one request is finding out whether it works again. */
  readonly state: "ready" | "cooling" | "probing";
  /**
   * The failure that it cools for: `credential`, `rate` or `quota`, which are a key's or a model's, `model`, which is a
   * model's, or `unreachable`, `overload`, `server`, `timeout` or `broken`.
   */
  readonly reason?: string;
  /** ISO 8601, UTC. */
  readonly nextTryAt?: string;
}

/** How one of several keys is. */
export interface KeyStatus extends HealthStatus {
  /** Its place in `apiKey`, from 0. */
  readonly index: number;
}

/** How one model is on a channel: the provider refuses it, or its limit is reached. */
export interface ModelStatus extends HealthStatus {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** The key it is refused with, as a place in `apiKey`, from 0. Of a channel with several keys. */
  readonly key?: number;
}

/** How a channel is. With all of its keys cooling it is as the key that is tried next. */
export interface ChannelStatus extends HealthStatus {
  readonly id: string;
  /** Of a channel with several keys. */
  readonly keys?: readonly KeyStatus[];
  /** The models that are left alone on this channel while it serves its others. Absent when there are none. */
  readonly models?: readonly ModelStatus[];
}

/** How channels are, in their order. */
export function describeChannels(channels: readonly Channel[], health: ChannelHealth): ChannelStatus[] {
  const modelIds = Map.groupBy(health.coolingIds(), (id) => readModelHealthId(id)?.keyHealthId);
  return channels.map((channel) => {
    const models = channel.keys.flatMap((key) => {
      const ids = modelIds.get(key.healthId) ?? [];
      const place = channel.keys.length === 1 ? {} : { key: key.index };
      return ids.map((id) => ({
        upstreamModel: readModelHealthId(id)?.upstreamModel ?? "",
        ...place,
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

/** Those that are ready come first: ISO times are in the order of their strings. */
function timeOf({ nextTryAt = "" }: HealthStatus): string {
  return nextTryAt;
}
