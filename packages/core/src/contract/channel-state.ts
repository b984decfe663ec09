/** The state of a channel, a key or a model. */
export interface HealthStatus {
  /** `cooling`: not used until `nextTryAt`. `probing`: one request is finding out whether it works again. */
  readonly state: "ready" | "cooling" | "probing";
  /**
   * The reason for the cooldown. Of a key or a model: `credential`, `rate` or `quota`. Of a model: `model`. Of a
   * channel: `unreachable`, `overload`, `server`, `timeout` or `broken`.
   */
  readonly reason?: string;
  /**
   * When it stopped working or began to work again; further cooldowns in between do not change it. ISO 8601, UTC.
   * Absent if it has worked since this process began.
   */
  readonly since?: string;
  /** ISO 8601, UTC. */
  readonly nextTryAt?: string;
}

/** The state of one of several keys. */
export interface KeyStatus extends HealthStatus {
  /** Its index in `apiKey`, from 0. */
  readonly index: number;
}

/** The state of a model that cools on a channel: the provider refuses it, or its limit is reached. */
export interface ModelStatus extends HealthStatus {
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /** If the channel has several keys: the index in `apiKey` of the key that the model is refused with, from 0. */
  readonly key?: number;
}

/** The state of a channel. If all of its keys cool, this is the state of the key that is tried next. */
export interface ChannelState extends Omit<HealthStatus, "state"> {
  readonly id: string;
  /** As for keys and models, or `paused`: by an operator. Then `since` and `nextTryAt` are those of the pause. */
  readonly state: HealthStatus["state"] | "paused";
  /** Who paused it, and until when. Present if it is paused. */
  readonly pause?: ChannelPause;
  /** Present if the channel has several keys. */
  readonly keys?: readonly KeyStatus[];
  /** The models that cool on this channel while it serves its other models. Absent if there are none. */
  readonly models?: readonly ModelStatus[];
}

/** Why a channel gets no requests although it may work: an operator has paused it. */
export interface ChannelPause {
  /** When it was paused. ISO 8601, UTC. */
  readonly since: string;
  /** When it ends by itself. ISO 8601, UTC. Absent: the channel stays paused until it is resumed. */
  readonly until?: string;
  /** Who paused it. */
  readonly by: string;
  /** Why, in the words of the operator. */
  readonly note?: string;
}
