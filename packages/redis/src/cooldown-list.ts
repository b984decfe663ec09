import type { Cooldown } from "@calotype/core";
import { toSafeText } from "./key-names.js";

/** Channels and their cooldowns in turn, as Redis gives them. */
export type CooldownList = readonly string[];

export function toCooldownText({ until, reason }: Cooldown): string {
  return `${until} ${JSON.stringify(reason)}`;
}

/** Those of the channels that cool. */
export function findCooldowns(
  list: CooldownList,
  channels: readonly string[],
  now: number,
): Record<string, Cooldown> {
  if (list.length === 0) return {};
  const cooling: [string, Cooldown][] = [];
  const places = new Map<string, number>();
  for (let index = 0; index < list.length; index += 2) places.set(list[index] ?? "", index + 1);
  for (const channel of channels) {
    const place = places.get(toSafeText(channel));
    const cooldown = place === undefined ? undefined : parse(list[place] ?? "");
    if (cooldown !== undefined && cooldown.until > now) cooling.push([channel, cooldown]);
  }
  // Unlike an assignment this makes a field of any name, `__proto__` too.
  return Object.fromEntries(cooling);
}

function parse(text: string): Cooldown {
  const blank = text.indexOf(" ");
  return { until: Number(text.slice(0, blank)), reason: JSON.parse(text.slice(blank + 1)) };
}
