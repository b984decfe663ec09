import type { Cooldown } from "../admission/admission-store.js";
import { type AttemptBook, BegunAttempt, type HealthAttempt } from "./health-attempt.js";
import { createEntry, type HealthEntry, isProbed } from "./health-entry.js";
import type { HealthPolicy } from "./health-policy.js";
import { adoptCooldown, dropSharedCooldown } from "./shared-cooldown.js";

/** Told when something begins to cool, cools for longer, or, with `undefined`, is well again. Must not throw. */
export type CooldownListener = (id: string, cooldown: Cooldown | undefined) => void;

/** Remembers how channels and their keys fared, by their health ids, and which are to be left alone. */
export interface ChannelHealth {
  /** Milliseconds since 1970 from which it may be tried; 0 for one that is well, Infinity while it is probed. */
  readyAt(id: string): number;
  begin(id: string): HealthAttempt;
  /** The number of its latest attempt among all attempts; 0 before the first. */
  turnOf(id: string): number;
  /** Why it cools, and when it is tried next; `undefined` when it is well. */
  cooldownOf(id: string): (Cooldown & { readonly isProbed: boolean }) | undefined;
  /** Takes over what the fleet knows of the ids that were asked for. The listener is not told. */
  merge(cooldowns: Readonly<Record<string, Cooldown>>, asked: readonly string[]): void;
  /** Forgets all but these, after the channels have changed. */
  retain(ids: readonly string[]): void;
}

/** The health of channels, in this process. */
export function createChannelHealth(
  now: () => number,
  policy: HealthPolicy,
  onChange: CooldownListener = () => {},
): ChannelHealth {
  const entries = new Map<string, HealthEntry>();
  let turns = 0;
  /** Those that the fleet was last seen to agree on. */
  const adopted = new Set<string>();

  const entryOf = (id: string): HealthEntry => {
    const known = entries.get(id);
    if (known !== undefined) return known;
    const entry = createEntry();
    entries.set(id, entry);
    return entry;
  };

  const book: AttemptBook = {
    now,
    policy,
    tell(id, entry) {
      if (entries.get(id) === entry) onChange(id, entry.cooldown);
    },
  };

  return {
    readyAt(id) {
      const entry = entries.get(id);
      if (entry?.cooldown === undefined) return 0;
      return isProbed(entry, now()) ? Number.POSITIVE_INFINITY : entry.cooldown.until;
    },
    begin(id) {
      const entry = entryOf(id);
      entry.turn = ++turns;
      return new BegunAttempt(id, entry, book);
    },
    turnOf: (id) => entries.get(id)?.turn ?? 0,
    cooldownOf(id) {
      const entry = entries.get(id);
      return entry?.cooldown && { ...entry.cooldown, isProbed: isProbed(entry, now()) };
    },
    merge(cooldowns, asked) {
      // There may be hundreds that were asked for; few of them cool, and nearly always none.
      for (const id of adopted) {
        if (Object.hasOwn(cooldowns, id) || !asked.includes(id)) continue;
        adopted.delete(id);
        dropSharedCooldown(entryOf(id), now());
      }
      for (const [id, cooldown] of Object.entries(cooldowns)) {
        if (!asked.includes(id)) continue;
        adopted.add(id);
        adoptCooldown(entryOf(id), cooldown, now(), policy);
      }
    },
    retain(ids) {
      const kept = new Set(ids);
      for (const id of entries.keys()) if (!kept.has(id)) entries.delete(id);
      for (const id of adopted) if (!kept.has(id)) adopted.delete(id);
    },
  };
}
