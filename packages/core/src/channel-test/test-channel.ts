import type { Channel } from "../routing/channel.js";
import type { ModelOptions } from "../routing/resolve-model.js";
import { type KeyTest, type KeyTestParts, testKey } from "./test-key.js";
import { type ChannelTestOptions, createTestRequest } from "./test-request.js";

/** What `gateway.test` found. */
export interface ChannelTest {
  /** The channel's id. */
  readonly channel: string;
  /** The service model. */
  readonly model: string;
  readonly upstreamModel: string;
  /** True when each key made an image. */
  readonly ok: boolean;
  readonly keys: readonly KeyTest[];
}

/** What a test needs of the gateway. */
export interface ChannelTestParts extends KeyTestParts {
  readonly models: Readonly<Record<string, ModelOptions>>;
}

/**
 * Asks a channel for one picture with each of its keys, one after another. A success ends a
 * cooldown, a failure counts like that of a request. The provider is paid for each picture.
 *
 * @throws GatewayError `model_not_found` when the channel does not serve the model,
 * `invalid_request_error` when none can be chosen, or for wrong fields
 */
export async function testChannel(
  channel: Channel,
  options: ChannelTestOptions,
  parts: ChannelTestParts,
): Promise<ChannelTest> {
  const request = createTestRequest(channel, parts.models, options);
  const keys: KeyTest[] = [];
  const upstreamModel = channel.toUpstreamModel(request.model) ?? request.model;
  for (const key of channel.keys) keys.push(await testKey({ channel, key, upstreamModel }, request, parts));
  return {
    channel: channel.id,
    model: request.model,
    upstreamModel,
    ok: keys.every(({ ok }) => ok),
    keys,
  };
}
