import type { ChannelPause } from "../contract/channel-state.js";
import type { GatewayError } from "../errors.js";
import type { Channel } from "./channel.js";

/** The channels that are paused, as far as this process knows. With each call, the admission store says which are. */
export interface Pauses {
  /** Returns the channels that are not paused: the same list if none is. */
  withoutPaused(channels: readonly Channel[]): readonly Channel[];
  /** Returns the pause of a channel. */
  find(channel: string): ChannelPause | undefined;
  /** Changes whenever a pause of this process changes. */
  readonly revision: number;
  /**
   * Takes over what the store replied.
   *
   * @param pauses by the id of the channel
   * @param channels the ids that the store was asked for
   * @param revision the revision when the store was asked. A reply to an older question is ignored.
   */
  merge(
    pauses: Readonly<Record<string, ChannelPause>> | undefined,
    channels: readonly string[],
    revision: number,
  ): void;
  /** The error of a request whose model has no channel that is not paused. Nothing was sent, held or charged. */
  createError(model: string): GatewayError;
}

/** @param now milliseconds since 1970 */
export function hasPauseEnded({ until }: ChannelPause, now: number): boolean {
  return until !== undefined && Date.parse(until) <= now;
}
