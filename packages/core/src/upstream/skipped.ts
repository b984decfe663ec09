import { type Channel, createModelHealthId, type Route } from "../channels/channel.js";
import type { ChannelHealth } from "../channels/health.js";
import type { Pauses } from "../channels/pauses.js";
import type { SkippedRoute } from "../contract/telemetry.js";

interface SkipContext {
  readonly health: Pick<ChannelHealth, "readyAt" | "cooldownOf">;
  readonly pauses: Pick<Pauses, "find"> | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The attempts of the call so far. They have reported the cooldowns of their channels. */
  readonly attempts: readonly { readonly channel: string }[];
}

/**
 * Returns the channels and keys that would come before the route of an attempt, or have the same priority, and that are not
 * used because they cool down or are paused. For telemetry.
 */
export function findSkipped(
  model: { readonly name: string; readonly channels: readonly Channel[] },
  route: Route,
  { health, pauses, now, attempts }: SkipContext,
): SkippedRoute[] {
  const found: SkippedRoute[] = [];
  const add = (id: string, skipped: Pick<SkippedRoute, "channel" | "key" | "scope">): boolean => {
    const cooldown = health.readyAt(id) > now() ? health.cooldownOf(id) : undefined;
    if (cooldown !== undefined) found.push({ ...skipped, ...cooldown });
    return cooldown !== undefined;
  };
  for (const channel of model.channels) {
    const { id, healthId, priority } = channel;
    if (priority < route.channel.priority || attempts.some((attempt) => attempt.channel === id)) continue;
    const pause = channel === route.channel ? undefined : pauses?.find(id);
    if (pause !== undefined) {
      const until = Date.parse(pause.until ?? NEVER);
      found.push({ channel: id, scope: "channel", reason: "paused", until, isProbed: false });
      continue;
    }
    // A channel with one key shares the record of the key.
    if (channel !== route.channel && add(healthId, { channel: id, scope: "channel" })) continue;
    const upstreamModel = channel.toUpstreamModel(model.name) ?? model.name;
    for (const key of channel.keys) {
      if (key === route.key) continue;
      const ofKey = { channel: id, key: key.index };
      if (key.healthId !== healthId && add(key.healthId, { ...ofKey, scope: "key" })) continue;
      add(createModelHealthId(key.healthId, upstreamModel), { ...ofKey, scope: "model" });
    }
  }
  return found;
}

/** The latest time that ISO 8601 writes with four digits of the year. */
const NEVER = "9999-12-31T23:59:59.999Z";
