import type { Cooldown } from "../image-request.js";
import { type HealthEntry, isProbed, startCooldown } from "./health-entry.js";
import type { HealthPolicy } from "./health-policy.js";

/**
 * Takes a cooldown over that another gateway of the fleet told. Times are those of its clock: one
 * that runs ahead cools for the longest cooldown at most.
 */
export function adoptCooldown(
  entry: HealthEntry,
  { until, reason }: Cooldown,
  now: number,
  policy: HealthPolicy,
): void {
  if (until === entry.sharedUntil) return;
  entry.sharedUntil = until;
  const end = Math.min(until, now + policy.maxCooldownMs);
  const isNews = end > now && end > (entry.cooldown?.until ?? 0);
  // A probe under way here is newer than what is told.
  if (!isNews || isProbed(entry, now)) return;
  startCooldown(entry, { until: end, reason });
  if (reason !== "rate") entry.level = Math.max(entry.level, levelOf(end - now, policy));
}

/** A cooldown that the fleet no longer agrees on was ended elsewhere: one request finds out at once. */
export function dropSharedCooldown(entry: HealthEntry, now: number): void {
  const { cooldown, sharedUntil } = entry;
  entry.sharedUntil = 0;
  const isShared = cooldown !== undefined && cooldown.until <= sharedUntil;
  if (isShared && cooldown.until > now) entry.cooldown = { ...cooldown, until: now };
}

/** How often it must have cooled for the cooldown to last that long, so that the next one is longer here, too. */
function levelOf(ms: number, { cooldownMs }: HealthPolicy): number {
  return Math.max(1, Math.ceil(Math.log2(ms / cooldownMs)) + 1);
}
