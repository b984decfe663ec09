import type { ChannelPause } from "../contract/channel-state.js";
import { GatewayError } from "../errors.js";
import type { Channel } from "./channel.js";

/** The channels that are paused, as far as this process knows. `admission/pauses.ts` keeps them. */
export interface PausedChannels {
  /** Returns the channels that are not paused: the same list if none is. */
  withoutPaused(channels: readonly Channel[]): readonly Channel[];
  /** Returns the pause of a channel. */
  find(channel: string): ChannelPause | undefined;
}

/** Returns the id under which the store keeps the pause of a channel. No health id ends like this. */
export function pauseIdOf(channel: Pick<Channel, "id">): string {
  return `${channel.id}@paused`;
}

/** The error of a request whose model has no channel that is not paused. Nothing was sent, held or charged. */
export function createPausedError(model: string): GatewayError {
  return new GatewayError(
    "model_paused",
    `The operator of this server has paused the model ${model.slice(0, 128)}. Nothing was sent or charged: try again later.`,
    { param: "model", retryAfterSeconds: RETRY_SECONDS, shouldRetry: false },
  );
}

/** A pause lasts for minutes or hours, and clients repeat within seconds. */
const RETRY_SECONDS = 60;
