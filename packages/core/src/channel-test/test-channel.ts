import type { Channel } from "../routing/channel.js";
import type { ModelOptions } from "../routing/resolve-model.js";
import { type KeyProbe, type KeyProbeParts, probeKey } from "./test-key.js";
import { type ChannelProbeOptions, createTestRequest } from "./test-request.js";

/** What `gateway.test` found. */
export interface ChannelProbe {
  /** The channel's id. */
  readonly channel: string;
  /** The service model. */
  readonly model: string;
  readonly upstreamModel: string;
  /** True when each key made an image. */
  readonly ok: boolean;
  readonly keys: readonly KeyProbe[];
}

/** What a test needs of the gateway. */
export interface ChannelProbeParts extends KeyProbeParts {
  readonly models: Readonly<Record<string, ModelOptions>>;
}

/**
 * Asks a channel for one picture with each of its keys, one after another. A success ends a
 * cooldown, a failure counts like that of a request. The provider is paid for each picture.
 *
 * @throws GatewayError `model_not_found` when the channel does not serve the model,
 * `invalid_request_error` when none can be chosen, or for wrong fields
 */
export async function probeChannel(
  channel: Channel,
  options: ChannelProbeOptions,
  parts: ChannelProbeParts,
): Promise<ChannelProbe> {
  const request = createTestRequest(channel, parts.models, options);
  const keys: KeyProbe[] = [];
  const upstreamModel = channel.toUpstreamModel(request.model) ?? request.model;
  for (const key of channel.keys) keys.push(await probeKey({ channel, key, upstreamModel }, request, parts));
  return {
    channel: channel.id,
    model: request.model,
    upstreamModel,
    ok: keys.every(({ ok }) => ok),
    keys,
  };
}
