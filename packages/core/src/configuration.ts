import { createAuthenticator, findByHash, findByOperator } from "./auth/authenticate.js";
import { createPriceList } from "./billing/pricing.js";
import { createByteMask } from "./bytes/mask-bytes.js";
import { type Channel, type ChannelOptions, createChannel, secretsOf } from "./channels/channel.js";
import { createKeyMask, createSecretMask } from "./mask-secrets.js";
import { createModelResolver, type ModelTables } from "./models/resolve-model.js";
import { checkOptions } from "./options/check-options.js";
import type { LoadedOptions } from "./options/load-options.js";
import type { PipelineParts } from "./pipeline.js";
import { maskTransport } from "./upstream/masked-transport.js";
import type { Transport } from "./upstream/transport.js";

/** What is made of the options that may change while the gateway runs. */
export interface Configuration
  extends Pick<PipelineParts, "authenticate" | "resolveModel" | "prices" | "mask" | "maskKeys"> {
  /** In the order of the options. */
  readonly channels: readonly Channel[];
  readonly models: LoadedOptions["models"];
  /** The transport that masks the channels' secrets in responses. */
  readonly maskTransport: (transport: Transport) => Transport;
}

/**
 * A configuration from options as they were read.
 *
 * @throws GatewayOptionsError with every problem and its path
 */
export function configure(options: LoadedOptions, now: () => number): Configuration {
  const families = checkOptions(options);
  const channels = options.channels.flatMap((channel) => {
    const family = families.get(channel.family);
    return family === undefined ? [] : [createChannel(channel, family)];
  });
  const { authenticate, callers = [] } = options;
  const secrets = [...new Set(channels.flatMap(secretsOf))];
  const maskKeys = createKeyMask(secrets);
  const masks = { maskKeys, bytes: createByteMask(secrets) };
  const rules = { hasBilling: options.billing !== undefined };
  return {
    channels,
    models: options.models,
    authenticate: createAuthenticator(
      authenticate ? findByOperator(authenticate, rules) : findByHash(callers),
      now,
    ),
    resolveModel: createModelResolver(toModelTables(options), families, channels),
    prices: options.billing && createPriceList(options.billing),
    mask: createSecretMask(secrets),
    maskKeys,
    maskTransport: (transport) => maskTransport(transport, masks),
  };
}

function toModelTables({ models, billing, channels, caseInsensitiveNames }: LoadedOptions): ModelTables {
  const mapped = caseInsensitiveNames === true ? channels.flatMap((channel) => mappedNames(channel)) : [];
  const otherNames = [...Object.keys(billing?.model_details ?? {}), ...mapped];
  return { models, otherNames, isCaseInsensitive: caseInsensitiveNames };
}

function mappedNames({ modelMapping = {} }: ChannelOptions): readonly string[] {
  return Object.keys(modelMapping);
}
