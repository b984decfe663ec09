import { createPriceList } from "../billing/pricing.js";
import { type Channel, createChannel, secretsOf } from "../channels/channel.js";
import type { Family } from "../families/family.js";
import { createCapabilityTable, createModelResolver } from "../models/resolve-model.js";
import type { RelatedOptions } from "../options/options.js";
import { createKeyRedaction, createSecretRedaction } from "../redact.js";
import { createByteRedaction } from "../upstream/redact-bytes.js";
import { redactTransport } from "../upstream/redact-transport.js";
import type { Transport } from "../upstream/transport.js";

/** Creates the parts of the kernel that depend on options that can be reloaded. */
export function configureKernel(options: RelatedOptions, families: ReadonlyMap<string, Family>) {
  const { models, billing, caseInsensitiveNames } = options;
  const channels: readonly Channel[] = options.channels.flatMap((channel) => {
    const family = families.get(channel.family);
    return family === undefined ? [] : [createChannel(channel, family)];
  });
  const secrets = [...new Set(channels.flatMap(secretsOf))];
  const redactKeys = createKeyRedaction(secrets);
  const redactions = { redactKeys, bytes: createByteRedaction(secrets) };
  const capabilities = createCapabilityTable(options.capabilities);
  const ofChannels = caseInsensitiveNames === true ? options.channels : [];
  const otherNames = [
    ...Object.keys(billing?.model_details ?? {}),
    ...ofChannels.flatMap(({ modelMapping = {} }) => Object.keys(modelMapping)),
  ];
  const tables = { models, otherNames, isCaseInsensitive: caseInsensitiveNames, capabilities };
  return {
    /** In the order of the options. */
    channels,
    models,
    capabilities,
    resolveModel: createModelResolver(tables, families, channels),
    prices: billing && createPriceList(billing),
    redact: createSecretRedaction(secrets),
    redactKeys,
    /** The transport that redacts the channels' secrets in responses. */
    redactTransport: (transport: Transport): Transport => redactTransport(transport, redactions),
  };
}
