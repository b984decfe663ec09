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
  const records = new Map<string, HealthRecord>();
  /** Ids of local records, the oldest first. */
  const localIds = new Set<string>();
  /** Ids whose cooldown is in the shared store, as far as this process knows. */
  const adoptedIds = new Set<string>();
  let uses = 0;

  const forget = (id: string): void => {
    records.delete(id);
    localIds.delete(id);
    adoptedIds.delete(id);
  };
  const recordOf = (id: string, isLocal = false): HealthRecord => {
    const known = records.get(id);
    if (known !== undefined) return known;
    const [oldest] = localIds;
    if (isLocal && oldest !== undefined && localIds.size >= MAX_LOCAL_RECORDS) forget(oldest);
    const record = new HealthRecord(policy, isLocal);
    records.set(id, record);
    if (isLocal) localIds.add(id);
    return record;
  };

  const beginOne = (id: string, record: HealthRecord): BegunRecord => {
    record.lastUse = ++uses;
    return { id, record, attempt: record.begin(now()) };
  };
  /** Applies the result of an attempt, and returns true if the cooldown changed. */
  const end = ({ id, record, attempt }: BegunRecord, failure?: AttemptFailure): boolean => {
    const before = record.cooldown;
    if (failure === undefined) record.succeed(attempt, now());
    else record.fail(attempt, failure, now());
    if (record.cooldown === before) return false;
    const isForgotten = records.get(id) !== record;
    if (!isForgotten && !record.isLocal) onChange(id, record.cooldown);
    if (!isForgotten && record.isLocal && record.cooldown === undefined) forget(id);
    return true;
  };

  const begin = ({ channel, key, upstreamModel }: Route, isConfigured: boolean): RouteAttempt => {
    const beginModel = (keyHealthId: string): BegunRecord => {
      const id = createModelHealthId(keyHealthId, upstreamModel);
      return beginOne(id, recordOf(id, !isConfigured));
    };
    const ofKey = beginOne(key.healthId, recordOf(key.healthId));
    // A channel with one key shares the record of the key.
    const ofChannel =
      key.healthId === channel.healthId ? undefined : beginOne(channel.healthId, recordOf(channel.healthId));
    const hasModel = records.has(createModelHealthId(key.healthId, upstreamModel));
    const ofModel = hasModel ? beginModel(key.healthId) : undefined;

    /** The records that a failure counts for. */
    const findFailed = (scope: FailureScope, failure: AttemptFailure): readonly BegunRecord[] => {
      if (scope === "key") return [ofKey];
      if (scope === "channel") return [ofChannel ?? ofKey];
      const keys = isForAllKeys(failure) ? channel.keys : [key];
      return keys.map((other) => (other === key && ofModel) || beginModel(other.healthId));
    };
    const succeeded = (): RouteChange => {
      const hasModelChanged = ofModel !== undefined && end(ofModel);
      const hasKeyChanged = end(ofKey);
      const hasChannelChanged = ofChannel !== undefined && end(ofChannel);
      if (hasChannelChanged) return { scope: "channel", hasChanged: true };
      if (hasModelChanged && !hasKeyChanged) return { scope: "model", hasChanged: true };
      return { scope: "key", hasChanged: hasKeyChanged };
    };
    return {
      isProbe:
        ofKey.attempt.isProbe || ofModel?.attempt.isProbe === true || ofChannel?.attempt.isProbe === true,
      succeeded,
      failed(failure) {
        const scope = scopeOf(failure);
        // The provider works; it refused this request only.
        if (scope === "request") return { scope, hasChanged: succeeded().hasChanged };
        const failed = findFailed(scope, failure);
        // The failure says nothing about the other records.
        for (const one of [ofModel, ofKey, ofChannel]) {
          if (one !== undefined && !failed.includes(one)) one.record.abandon(one.attempt);
        }
        const changes = failed.map((one) => end(one, failure));
        return { scope, hasChanged: changes.includes(true) };
      },
    };
  };

  return {
    readyAt(id) {
      const record = records.get(id);
      if (record?.cooldown === undefined) return 0;
      return record.isProbed(now()) ? Number.POSITIVE_INFINITY : record.cooldown.until;
    },
    cooldownOf(id) {
      const record = records.get(id);
      return record?.cooldown && { ...record.cooldown, isProbed: record.isProbed(now()) };
    },
    changedAt: (id) => records.get(id)?.changedAt,
    coolingIds() {
      const forgottenBefore = now() - policy.maxCooldownMs;
      return [...records].flatMap(([id, { cooldown, isLocal }]) =>
        cooldown === undefined || (isLocal && cooldown.until < forgottenBefore) ? [] : [id],
      );
    },
    lastUseOf: (id) => records.get(id)?.lastUse ?? 0,
    begin,
    merge(cooldowns, asked) {
      // `asked` may have hundreds of ids. Few of them cool, so this goes through those.
      for (const id of adoptedIds) {
        if (Object.hasOwn(cooldowns, id) || !asked.includes(id)) continue;
        adoptedIds.delete(id);
        recordOf(id).endAdopted(now());
      }
      for (const [id, cooldown] of Object.entries(cooldowns)) {
        if (!asked.includes(id)) continue;
        adoptedIds.add(id);
        recordOf(id).adopt(cooldown, now());
      }
    },
    retain(ids) {
      const kept = new Set(ids);
      for (const [id, { cooldown }] of records) {
        const model = readModelHealthId(id);
        const isCoolingModel = model !== undefined && cooldown !== undefined && kept.has(model.keyHealthId);
        if (!kept.has(id) && !isCoolingModel) forget(id);
      }
    },
  };
}

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
