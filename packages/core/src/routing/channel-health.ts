import type { Cooldown } from "../image-request.js";
import { type AttemptBook, BegunAttempt, type HealthAttempt } from "./health-attempt.js";
import { createEntry, type HealthEntry, isProbed } from "./health-entry.js";
import { readModelHealthId } from "./health-id.js";
import type { HealthPolicy } from "./health-policy.js";
import { adoptCooldown, dropSharedCooldown } from "./shared-cooldown.js";

/** Told when something begins to cool, cools for longer, or, with `undefined`, is well again. Must not throw. */
export type CooldownListener = (id: string, cooldown: Cooldown | undefined) => void;

/** A cooldown, and whether an attempt is probing whether it can end. */
type ObservedCooldown = Cooldown & { readonly isProbed: boolean };

/**
 * Remembers the results of attempts for channels, for their keys, and for models with these keys, by their health
 * ids, and decides what cools. For models only refusals are remembered.
 */
export interface ChannelHealth {
  /**
   * The time from which the channel, key or model may be tried, in milliseconds since 1970. 0: it is known to work. A
   * time in the past: its cooldown is over, and the next attempt is its probe. Infinity: it is being probed.
   */
  readyAt(id: string): number;
  begin(id: string): HealthAttempt;
  /**
   * Like `begin`, for a model whose name a client chose, such as a name of a series. The number of these models is
   * limited, and they are known to this process only.
   */
  beginLocal(id: string): HealthAttempt;
  /** True if something is remembered for the id. */
  has(id: string): boolean;
  /** The number of its latest attempt among all attempts; 0 before the first. */
  turnOf(id: string): number;
  /** Why it cools, and when it is tried next; `undefined` when it is well. */
  cooldownOf(id: string): ObservedCooldown | undefined;
  /** The ids that cool, and those whose probe is due or in progress. */
  coolingIds(): string[];
  /** Takes over what the fleet knows of the ids that were asked for. The listener is not told. */
  merge(cooldowns: Readonly<Record<string, Cooldown>>, asked: readonly string[]): void;
  /**
   * Call after the channels have changed. Forgets everything except these channels and keys, and the models that cool
   * with these keys.
   */
  retain(ids: readonly string[]): void;
}

/** A series has an unlimited number of names, and clients choose them. */
const MAX_LOCAL_ENTRIES = 1_000;

/** The health of channels, in this process. */
export function createChannelHealth(
  now: () => number,
  policy: HealthPolicy,
  onChange: CooldownListener = () => {},
): ChannelHealth {
  const entries = new Map<string, HealthEntry>();
  /** Ids of `entries` that are local, the oldest first. */
  const local = new Set<string>();
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

  const localEntryOf = (id: string): HealthEntry => {
    const known = entries.get(id);
    if (known !== undefined) return known;
    const [oldest] = local;
    if (oldest !== undefined && local.size >= MAX_LOCAL_ENTRIES) forget(oldest);
    const entry = createEntry(true);
    entries.set(id, entry);
    local.add(id);
    return entry;
  };

  const forget = (id: string): void => {
    entries.delete(id);
    local.delete(id);
    adopted.delete(id);
  };

  const book: AttemptBook = {
    now,
    policy,
    tell(id, entry) {
      if (entries.get(id) !== entry) return;
      if (!entry.isLocal) onChange(id, entry.cooldown);
      else if (entry.cooldown === undefined) forget(id);
    },
  };

  const beginEntry = (id: string, entry: HealthEntry): HealthAttempt => {
    const attempt = new BegunAttempt(id, entry, book);
    entry.turn = ++turns;
    return attempt;
  };

  return {
    readyAt(id) {
      const entry = entries.get(id);
      if (entry?.cooldown === undefined) return 0;
      return isProbed(entry, now()) ? Number.POSITIVE_INFINITY : entry.cooldown.until;
    },
    begin: (id) => beginEntry(id, entryOf(id)),
    beginLocal: (id) => beginEntry(id, localEntryOf(id)),
    has: (id) => entries.has(id),
    turnOf: (id) => entries.get(id)?.turn ?? 0,
    cooldownOf(id) {
      const entry = entries.get(id);
      return entry?.cooldown && { ...entry.cooldown, isProbed: isProbed(entry, now()) };
    },
    coolingIds() {
      const forgottenBefore = now() - policy.maxCooldownMs;
      return [...entries].flatMap(([id, { cooldown, isLocal }]) =>
        cooldown === undefined || (isLocal && cooldown.until < forgottenBefore) ? [] : [id],
      );
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
      for (const [id, { cooldown }] of entries) {
        const model = readModelHealthId(id);
        const isCoolingModel = model !== undefined && cooldown !== undefined && kept.has(model.keyHealthId);
        if (!kept.has(id) && !isCoolingModel) forget(id);
      }
    },
  };
}
