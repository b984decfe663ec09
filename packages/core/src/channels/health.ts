import type { AttemptFailure } from "../families/failure.js";
import type { Cooldown, FailureScope } from "../types.js";
import { createModelHealthId, type Route, readModelHealthId } from "./channel.js";
import { type HealthPolicy, HealthRecord, type RecordedAttempt } from "./health-record.js";

/**
 * Remembers the results of attempts and decides what cools. It has a record for each channel, for each key of a
 * channel, and for each model that was refused with a key. Health ids name them, see `channel.ts`.
 */
export interface ChannelHealth {
  /**
   * The time from which a channel, key or model may be tried, in milliseconds since 1970. 0: it works. A time in the
   * past: its cooldown is over, and the next attempt is its probe. Infinity: a probe is in progress.
   */
  readyAt(id: string): number;
  /** The same for a model with a key: both must be ready. */
  routeReadyAt(keyHealthId: string, upstreamModel: string): number;
  /** The cooldown of a channel, key or model; `undefined` if it works. */
  cooldownOf(id: string): ObservedCooldown | undefined;
  /**
   * When a channel, key or model last changed between working and cooling, in milliseconds since 1970. `undefined` if it
   * has worked since this process began.
   */
  changedAt(id: string): number | undefined;
  /** Health ids with a cooldown, including those whose probe is due or in progress. */
  coolingIds(): string[];
  /** The number of the latest attempt with the id among all attempts; 0 before the first. */
  lastUseOf(id: string): number;
  /**
   * Begins an attempt on a route.
   *
   * @param isConfigured true if the options contain the model's name. Then the model's cooldown is shared with the
   *   other gateways. Clients choose the other names, so the number of their records is limited.
   */
  begin(route: Route, isConfigured: boolean): RouteAttempt;
  /**
   * Takes over the cooldowns of the store that gateways share. The listener is not called.
   *
   * @param asked the ids that the store was asked for
   */
  merge(cooldowns: Readonly<Record<string, Cooldown>>, asked: readonly string[]): void;
  /**
   * Call after the channels have changed. Forgets everything except these channels and keys, and the models that cool
   * with these keys.
   */
  retain(ids: readonly string[]): void;
}

/** A cooldown, and whether a probe of it is in progress. */
type ObservedCooldown = Cooldown & { readonly isProbed: boolean };

/** An attempt with one key on one channel. Call `succeeded` or `failed` once. */
export interface RouteAttempt {
  /** True if this attempt is a probe of the channel, the key or the model after a cooldown. */
  readonly isProbe: boolean;
  succeeded(): RouteChange;
  failed(failure: AttemptFailure): RouteChange;
}

/** How an attempt changed cooldowns. */
export interface RouteChange {
  /** What the result of the attempt applies to. */
  readonly scope: FailureScope;
  /** True if a cooldown began, became longer or ended. */
  readonly hasChanged: boolean;
}

/** Called when a cooldown begins, becomes longer or, with `undefined`, ends. Must not throw. */
export type CooldownListener = (id: string, cooldown: Cooldown | undefined) => void;

/** The limit of records for model names that clients chose. */
const MAX_LOCAL_RECORDS = 1_000;

/** Creates the health of the channels in this process. */
export function createChannelHealth(
  now: () => number,
  policy: HealthPolicy,
  onChange: CooldownListener = () => {},
): ChannelHealth {
  return new HealthRecords(now, policy, onChange);
}

class HealthRecords implements ChannelHealth {
  readonly #now: () => number;
  readonly #policy: HealthPolicy;
  readonly #onChange: CooldownListener;
  readonly #records = new Map<string, HealthRecord>();
  /** How many of the records are of models. Nearly always there is none: then no id of a model need be made. */
  #models = 0;
  /** Ids of local records, the oldest first. */
  readonly #localIds = new Set<string>();
  /** Ids whose cooldown is in the shared store, as far as this process knows. */
  readonly #adoptedIds = new Set<string>();
  #uses = 0;

  constructor(now: () => number, policy: HealthPolicy, onChange: CooldownListener) {
    this.#now = now;
    this.#policy = policy;
    this.#onChange = onChange;
  }

  readyAt(id: string): number {
    const record = this.#records.get(id);
    if (record?.cooldown === undefined) return 0;
    return record.isProbed(this.#now()) ? Number.POSITIVE_INFINITY : record.cooldown.until;
  }

  routeReadyAt(keyHealthId: string, upstreamModel: string): number {
    const ofKey = this.readyAt(keyHealthId);
    return this.#models === 0
      ? ofKey
      : Math.max(ofKey, this.readyAt(createModelHealthId(keyHealthId, upstreamModel)));
  }

  cooldownOf(id: string): ObservedCooldown | undefined {
    const record = this.#records.get(id);
    return record?.cooldown && { ...record.cooldown, isProbed: record.isProbed(this.#now()) };
  }

  changedAt(id: string): number | undefined {
    return this.#records.get(id)?.changedAt;
  }

  coolingIds(): string[] {
    const forgottenBefore = this.#now() - this.#policy.maxCooldownMs;
    return [...this.#records].flatMap(([id, { cooldown, isLocal }]) =>
      cooldown === undefined || (isLocal && cooldown.until < forgottenBefore) ? [] : [id],
    );
  }

  lastUseOf(id: string): number {
    return this.#records.get(id)?.lastUse ?? 0;
  }

  begin(route: Route, isConfigured: boolean): RouteAttempt {
    return new BegunAttempt(this, route, isConfigured);
  }

  merge(cooldowns: Readonly<Record<string, Cooldown>>, asked: readonly string[]): void {
    // `asked` may have hundreds of ids. Few of them cool, so this goes through those.
    for (const id of this.#adoptedIds) {
      if (Object.hasOwn(cooldowns, id) || !asked.includes(id)) continue;
      this.#adoptedIds.delete(id);
      this.#recordOf(id).endAdopted(this.#now());
    }
    for (const id in cooldowns) {
      const cooldown = cooldowns[id];
      if (cooldown === undefined || !asked.includes(id)) continue;
      this.#adoptedIds.add(id);
      this.#recordOf(id).adopt(cooldown, this.#now());
    }
  }

  retain(ids: readonly string[]): void {
    const kept = new Set(ids);
    for (const [id, { cooldown }] of this.#records) {
      const model = readModelHealthId(id);
      const isCoolingModel = model !== undefined && cooldown !== undefined && kept.has(model.keyHealthId);
      if (!kept.has(id) && !isCoolingModel) this.#forget(id);
    }
  }

  beginRecord(id: string, isLocal = false): BegunRecord {
    const record = this.#recordOf(id, isLocal);
    record.lastUse = ++this.#uses;
    return { id, record, attempt: record.begin(this.#now()) };
  }

  /** `undefined`: the model was not refused with this key. */
  beginKnownModel(keyHealthId: string, upstreamModel: string, isLocal: boolean): BegunRecord | undefined {
    if (this.#models === 0) return undefined;
    const id = createModelHealthId(keyHealthId, upstreamModel);
    return this.#records.has(id) ? this.beginRecord(id, isLocal) : undefined;
  }

  /** Applies the result of an attempt, and returns true if the cooldown changed. */
  end({ id, record, attempt }: BegunRecord, failure?: AttemptFailure): boolean {
    const before = record.cooldown;
    if (failure === undefined) record.succeed(attempt, this.#now());
    else record.fail(attempt, failure, this.#now());
    if (record.cooldown === before) return false;
    const isForgotten = this.#records.get(id) !== record;
    if (!isForgotten && !record.isLocal) this.#onChange(id, record.cooldown);
    if (!isForgotten && record.isLocal && record.cooldown === undefined) this.#forget(id);
    return true;
  }

  #recordOf(id: string, isLocal = false): HealthRecord {
    const known = this.#records.get(id);
    if (known !== undefined) return known;
    const [oldest] = this.#localIds;
    if (isLocal && oldest !== undefined && this.#localIds.size >= MAX_LOCAL_RECORDS) this.#forget(oldest);
    const record = new HealthRecord(this.#policy, isLocal);
    this.#records.set(id, record);
    if (readModelHealthId(id) !== undefined) this.#models++;
    if (isLocal) this.#localIds.add(id);
    return record;
  }

  #forget(id: string): void {
    if (this.#records.delete(id) && readModelHealthId(id) !== undefined) this.#models--;
    this.#localIds.delete(id);
    this.#adoptedIds.delete(id);
  }
}

class BegunAttempt implements RouteAttempt {
  readonly #health: HealthRecords;
  readonly #route: Route;
  readonly #isConfigured: boolean;
  readonly #ofKey: BegunRecord;
  /** `undefined`: a channel with one key shares the record of the key. */
  readonly #ofChannel: BegunRecord | undefined;
  readonly #ofModel: BegunRecord | undefined;
  readonly isProbe: boolean;

  constructor(health: HealthRecords, route: Route, isConfigured: boolean) {
    const { channel, key, upstreamModel } = route;
    const ofKey = health.beginRecord(key.healthId);
    const isShared = key.healthId === channel.healthId;
    const ofChannel = isShared ? undefined : health.beginRecord(channel.healthId);
    const ofModel = health.beginKnownModel(key.healthId, upstreamModel, !isConfigured);
    this.#health = health;
    this.#route = route;
    this.#isConfigured = isConfigured;
    this.#ofKey = ofKey;
    this.#ofChannel = ofChannel;
    this.#ofModel = ofModel;
    this.isProbe =
      ofKey.attempt.isProbe || ofModel?.attempt.isProbe === true || ofChannel?.attempt.isProbe === true;
  }

  succeeded(): RouteChange {
    const health = this.#health;
    const ofModel = this.#ofModel;
    const ofChannel = this.#ofChannel;
    const hasModelChanged = ofModel !== undefined && health.end(ofModel);
    const hasKeyChanged = health.end(this.#ofKey);
    const hasChannelChanged = ofChannel !== undefined && health.end(ofChannel);
    if (hasChannelChanged) return { scope: "channel", hasChanged: true };
    if (hasModelChanged && !hasKeyChanged) return { scope: "model", hasChanged: true };
    return hasKeyChanged ? { scope: "key", hasChanged: true } : UNCHANGED;
  }

  failed(failure: AttemptFailure): RouteChange {
    const scope = scopeOf(failure);
    // The provider works; it refused this request only.
    if (scope === "request") return { scope, hasChanged: this.succeeded().hasChanged };
    const failed = this.#findFailed(scope, failure);
    // The failure says nothing about the other records.
    for (const one of [this.#ofModel, this.#ofKey, this.#ofChannel]) {
      if (one !== undefined && !failed.includes(one)) one.record.abandon(one.attempt);
    }
    const changes = failed.map((one) => this.#health.end(one, failure));
    return { scope, hasChanged: changes.includes(true) };
  }

  /** The records that a failure counts for. */
  #findFailed(scope: FailureScope, failure: AttemptFailure): readonly BegunRecord[] {
    if (scope === "key") return [this.#ofKey];
    if (scope === "channel") return [this.#ofChannel ?? this.#ofKey];
    const { channel, key, upstreamModel } = this.#route;
    const keys = isForAllKeys(failure) ? channel.keys : [key];
    return keys.map((other) => {
      if (other === key && this.#ofModel !== undefined) return this.#ofModel;
      return this.#health.beginRecord(
        createModelHealthId(other.healthId, upstreamModel),
        !this.#isConfigured,
      );
    });
  }
}

const UNCHANGED: RouteChange = { scope: "key", hasChanged: false };

/** A record, and the attempt that it takes part in. */
interface BegunRecord {
  readonly id: string;
  readonly record: HealthRecord;
  readonly attempt: RecordedAttempt;
}

/** Returns what a failure makes unusable: the family's scope, or the default scope of the failure's kind. */
export function scopeOf({ kind, scope }: Pick<AttemptFailure, "kind" | "scope">): FailureScope {
  switch (kind) {
    case "content":
      return "request";
    case "model":
      return scope ?? "model";
    case "credential":
    case "rate":
    case "quota":
      return scope ?? "key";
    case "overload":
    case "server":
      return scope ?? "channel";
    case "unreachable":
    case "timeout":
    case "broken":
      return "channel";
  }
}

/** True if the failure means that the model is unusable on the channel with every key. */
export function isForAllKeys({ kind }: Pick<AttemptFailure, "kind">): boolean {
  return kind !== "credential" && kind !== "rate" && kind !== "quota";
}
