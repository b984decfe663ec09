import type { Channel } from "./channel.js";
import type { ChannelHealth } from "./channel-health.js";

/** How a channel, or one of its keys, is. */
interface HealthStatus {
  /** `cooling`: left alone until `nextTryAt`. `probing`: one request is finding out whether it works again. */
  readonly state: "ready" | "cooling" | "probing";
  /**
   * The failure that it cools for: `credential`, `rate` or `quota`, which are a key's, or `unreachable`,
   * `overload`, `server`, `timeout` or `broken`.
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

/** How a channel is. With all of its keys cooling it is as the key that is tried next. */
export interface ChannelStatus extends HealthStatus {
  readonly id: string;
  /** Of a channel with several keys. */
  readonly keys?: readonly KeyStatus[];
}

export function describeChannel(channel: Channel, health: ChannelHealth): ChannelStatus {
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

/** Those that are ready come first: ISO times are in the order of their texts. */
function timeOf({ nextTryAt = "" }: HealthStatus): string {
  return nextTryAt;
}
