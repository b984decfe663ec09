import type { AttemptFailure } from "../families/family.js";
import type { Cooldown } from "../types.js";
import { createModelHealthId, type Route, readModelHealthId } from "./channel.js";
import {
  adoptCooldown,
  beginAttempt,
  createEntry,
  dropSharedCooldown,
  type EntryAttempt,
  endAttempt,
  type HealthEntry,
  type HealthPolicy,
  isForAllKeys,
  isProbed,
  recordFailure,
  recordSuccess,
  scopeOf,
} from "./cooldown.js";

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

/** How an attempt changed cooldowns. */
export interface RouteChange {
  /** What the result of the attempt applies to. */
  readonly scope: "request" | "model" | "key" | "channel";
  /** True if a cooldown of it began, became longer or ended. */
  readonly hasChanged: boolean;
}

/**
 * An attempt with one key on one channel. Its result is recorded in the health of the channel, the key or the model,
 * depending on what it applies to. Call `succeeded` or `failed` once.
 */
export interface RouteAttempt {
  /** True if this attempt is a probe of the channel, the key or the model after a cooldown. */
  readonly isProbe: boolean;
  succeeded(): RouteChange;
  failed(failure: AttemptFailure): RouteChange;
}

/**
 * @param isConfigured whether the options contain the model's name. The model's cooldown is then kept as long as
 *   needed, and shared with the other gateways of a store.
 */
export function beginRoute(health: ChannelHealth, route: Route, isConfigured: boolean): RouteAttempt {
  return new BegunRoute(health, route, isConfigured);
}

class BegunRoute implements RouteAttempt {
  readonly #health: ChannelHealth;
  readonly #route: Route;
  readonly #isConfigured: boolean;
  readonly #ofKey: HealthAttempt;
  /** `undefined` if the channel has one key: the key and the channel then share their health. */
  readonly #ofChannel: HealthAttempt | undefined;
  /** `undefined` if the model has no failures on record. */
  readonly #ofModel: HealthAttempt | undefined;

  constructor(health: ChannelHealth, route: Route, isConfigured: boolean) {
    const { channel, key, upstreamModel } = route;
    this.#health = health;
    this.#route = route;
    this.#isConfigured = isConfigured;
    this.#ofKey = health.begin(key.healthId);
    this.#ofChannel = key.healthId === channel.healthId ? undefined : health.begin(channel.healthId);
    const modelId = createModelHealthId(key.healthId, upstreamModel);
    this.#ofModel = health.has(modelId) ? this.#beginModel(modelId) : undefined;
  }

  get isProbe(): boolean {
    return this.#ofKey.isProbe || this.#ofChannel?.isProbe === true || this.#ofModel?.isProbe === true;
  }

  succeeded(): RouteChange {
    const ofModel = this.#ofModel?.succeeded() === true;
    const ofKey = this.#ofKey.succeeded();
    const ofChannel = this.#ofChannel?.succeeded() === true;
    if (ofModel && !ofKey && !ofChannel) return { scope: "model", hasChanged: true };
    return { scope: ofChannel ? "channel" : "key", hasChanged: ofKey || ofChannel };
  }

  failed(failure: AttemptFailure): RouteChange {
    const scope = scopeOf(failure);
    switch (scope) {
      case "request":
        return { scope, hasChanged: this.succeeded().hasChanged };
      case "model":
        this.#ofKey.abandoned();
        this.#ofChannel?.abandoned();
        return { scope, hasChanged: this.#failModel(failure) };
      case "key":
        this.#ofModel?.abandoned();
        this.#ofChannel?.abandoned();
        return { scope, hasChanged: this.#ofKey.failed(failure) };
      case "channel":
        this.#ofModel?.abandoned();
        if (this.#ofChannel === undefined) return { scope, hasChanged: this.#ofKey.failed(failure) };
        this.#ofKey.abandoned();
        return { scope, hasChanged: this.#ofChannel.failed(failure) };
    }
  }

  #failModel(failure: AttemptFailure): boolean {
    const { channel, key, upstreamModel } = this.#route;
    let hasChanged = false;
    for (const other of isForAllKeys(failure) ? channel.keys : [key]) {
      const begun = other === key ? this.#ofModel : undefined;
      const attempt = begun ?? this.#beginModel(createModelHealthId(other.healthId, upstreamModel));
      if (attempt.failed(failure)) hasChanged = true;
    }
    return hasChanged;
  }

  #beginModel(id: string): HealthAttempt {
    return this.#isConfigured ? this.#health.begin(id) : this.#health.beginLocal(id);
  }
}

/** One attempt on a channel, a key, or a model with a key. Call one of `succeeded`, `failed` and `abandoned`, once. */
interface HealthAttempt {
  /** True if this attempt is the probe after a cooldown. */
  readonly isProbe: boolean;
  /** Returns true if a cooldown ended. */
  succeeded(): boolean;
  /** Returns true if a cooldown began or became longer. */
  failed(failure: AttemptFailure): boolean;
  /** The attempt failed for a reason that says nothing about this channel, key or model. */
  abandoned(): void;
}

/** What attempts have in common. */
interface AttemptBook {
  readonly now: () => number;
  readonly policy: HealthPolicy;
  /** The cooldown of an entry has changed. */
  readonly tell: (id: string, entry: HealthEntry) => void;
}

class BegunAttempt implements HealthAttempt {
  readonly #id: string;
  readonly #entry: HealthEntry;
  readonly #book: AttemptBook;
  readonly #attempt: EntryAttempt;

  constructor(id: string, entry: HealthEntry, book: AttemptBook) {
    this.#id = id;
    this.#entry = entry;
    this.#book = book;
    this.#attempt = beginAttempt(entry, book.now(), book.policy);
  }

  get isProbe(): boolean {
    return this.#attempt.isProbe;
  }

  succeeded(): boolean {
    const before = this.#entry.cooldown;
    recordSuccess(this.#entry, this.#attempt, this.#book.now(), this.#book.policy);
    return this.#tellOfChange(before);
  }

  failed(failure: AttemptFailure): boolean {
    const before = this.#entry.cooldown;
    const { now, policy } = this.#book;
    recordFailure(this.#entry, this.#attempt, failure, { now: now(), policy });
    return this.#tellOfChange(before);
  }

  abandoned(): void {
    endAttempt(this.#entry, this.#attempt);
  }

  #tellOfChange(before: Cooldown | undefined): boolean {
    const hasChanged = this.#entry.cooldown !== before;
    if (hasChanged) this.#book.tell(this.#id, this.#entry);
    return hasChanged;
  }
}
