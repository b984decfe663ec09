import type { AttemptFailure } from "../upstream-failure.js";
import type { ChannelHealth } from "./channel-health.js";
import { isForAllKeys, scopeOf } from "./failure-scope.js";
import type { HealthAttempt } from "./health-attempt.js";
import { createModelHealthId } from "./health-id.js";
import type { Route } from "./channel.js";

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
