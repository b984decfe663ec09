import { createPriceList } from "../billing/pricing.js";
import { type Channel, createChannel, secretsOf } from "../channels/channel.js";
import type { KeySources } from "../channels/key-source.js";
import type { Family } from "../families/family.js";
import { createCapabilityTable, createModelResolver, type ModelTables } from "../models/resolve-model.js";
import type { RelatedOptions } from "../options/options.js";
import { createKeyRedaction, createSecretRedaction } from "../redact.js";
import { createByteRedaction } from "../upstream/redact-bytes.js";
import { redactTransport } from "../upstream/redact-transport.js";
import type { Transport } from "../upstream/transport.js";

/** Creates the parts of the kernel that depend on options that can be reloaded. */
export function configureKernel(
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
  sources: KeySources,
  pauseIdOf?: ModelTables["pauseIdOf"],
) {
  const { models, billing, caseInsensitiveNames } = options;
  const channels: readonly Channel[] = options.channels.flatMap((channel) => {
    const family = families.get(channel.family);
    return family === undefined ? [] : [createChannel(channel, family, sources)];
  });
  const redactions = createRedactions(channels.flatMap(secretsOf), sources);
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
    redact: redactions.redact,
    redactKeys: redactions.redactKeys,
    /** The transport that redacts the channels' secrets in responses. */
    redactTransport: (transport: Transport): Transport => redactTransport(transport, redactions),
  };
}

/** Creates the redactions of these secrets, and of the keys that functions return later. */
function createRedactions(fixed: readonly string[], sources: KeySources) {
  let returned = sources.secrets;
  const create = () => {
    const secrets = [...new Set([...fixed, ...returned])];
    return {
      redact: createSecretRedaction(secrets),
      redactKeys: createKeyRedaction(secrets),
      bytes: createByteRedaction(secrets),
    };
  };
  let latest = create();
  const current = () => {
    if (sources.secrets !== returned) {
      returned = sources.secrets;
      latest = create();
    }
    return latest;
  };
  return {
    redact: (text: string) => current().redact(text),
    redactKeys: (text: string) => current().redactKeys(text),
    bytes: { open: () => current().bytes.open() },
  };
}
