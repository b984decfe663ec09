import type { ChannelHealth } from "./channel-health.js";
import { scopeOf } from "./failure-scope.js";
import type { HealthAttempt } from "./health-attempt.js";
import type { Route } from "./plan-routes.js";

/** Begins an attempt, whose end is told to the health of the key or of the channel, whichever it says something of. */
export function beginRoute(health: ChannelHealth, { channel, key }: Route): HealthAttempt {
  const ofKey = health.begin(key.healthId);
  if (key.healthId === channel.healthId) return ofKey;
  const ofChannel = health.begin(channel.healthId);
  const both = [ofKey, ofChannel];
  return {
    succeeded: () => both.forEach((attempt) => attempt.succeeded()),
    failed(failure) {
      const scope = scopeOf(failure.kind);
      if (scope === "channel") ofKey.abandoned();
      else ofKey.failed(failure);
      if (scope === "key") ofChannel.abandoned();
      else ofChannel.failed(failure);
    },
    abandoned: () => both.forEach((attempt) => attempt.abandoned()),
  };
}
