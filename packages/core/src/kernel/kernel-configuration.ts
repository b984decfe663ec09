import { createPriceList } from "../billing/pricing.js";
import { type Channel, createChannel, secretsOf } from "../channels/channel.js";
import type { Family } from "../families/family.js";
import { createCapabilityTable, createModelResolver, type ModelTables } from "../models/resolve-model.js";
import type { RelatedOptions } from "../options/options.js";
import { createKeyMask, createSecretMask } from "../redact.js";
import { createByteMask } from "../upstream/mask-bytes.js";
import { maskTransport } from "../upstream/mask-transport.js";
import type { Transport } from "../upstream/transport.js";

/** Creates the parts of the kernel that depend on options that can be reloaded. */
export function configureKernel(
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
  pauseIdOf?: ModelTables["pauseIdOf"],
) {
  const { models, billing, caseInsensitiveNames } = options;
  const channels: readonly Channel[] = options.channels.flatMap((channel) => {
    const family = families.get(channel.family);
    return family === undefined ? [] : [createChannel(channel, family)];
  });
  const secrets = [...new Set(channels.flatMap(secretsOf))];
  const maskKeys = createKeyMask(secrets);
  const masks = { maskKeys, bytes: createByteMask(secrets) };
  const capabilities = createCapabilityTable(options.capabilities);
  const ofChannels = caseInsensitiveNames === true ? options.channels : [];
  const otherNames = [
    ...Object.keys(billing?.model_details ?? {}),
    ...ofChannels.flatMap(({ modelMapping = {} }) => Object.keys(modelMapping)),
  ];
  const tables = { models, otherNames, isCaseInsensitive: caseInsensitiveNames, capabilities, pauseIdOf };
  return {
    /** In the order of the options. */
    channels,
    models,
    capabilities,
    resolveModel: createModelResolver(tables, families, channels),
    prices: billing && createPriceList(billing),
    mask: createSecretMask(secrets),
    maskKeys,
    /** The transport that masks the channels' secrets in responses. */
    maskTransport: (transport: Transport): Transport => maskTransport(transport, masks),
  };
}
