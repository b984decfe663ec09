import type { ChannelPause } from "../contract/channel-state.js";
import type { GatewayError } from "../errors.js";
import type { Cooldown } from "../types.js";
import type { Channel } from "./channel.js";

/**
 * The channels that are paused, as far as this process knows. The admission store keeps the pauses as cooldowns with ids of
 * their own, which it is asked for with each call, see `ResolvedModel.cooldownIds`.
 */
export interface Pauses {
  /** Returns the id under which the store keeps the pause of a channel. */
  idOf(channel: Pick<Channel, "id">): string;
  /** Returns the channels that are not paused: the same list if none is. */
  withoutPaused(channels: readonly Channel[]): readonly Channel[];
  /** Returns the pause of a channel. */
  find(channel: string): ChannelPause | undefined;
  /** Changes whenever a pause of this process changes. */
  readonly revision: number;
  /**
   * Takes over what the store replied.
   *
   * @param revision the revision when the store was asked. A reply to an older question is ignored.
   */
  merge(
    cooldowns: Readonly<Record<string, Cooldown>>,
    channels: readonly Pick<Channel, "id">[],
    revision: number,
  ): void;
  /** The error of a request whose model has no channel that is not paused. Nothing was sent, held or charged. */
  createError(model: string): GatewayError;
}
