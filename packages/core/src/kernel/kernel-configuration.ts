import type { ChannelCosts } from "../billing/outcome.js";
import { createPriceList } from "../billing/pricing.js";
import {
  type ChangeDialect,
  type Channel,
  createChannel,
  findDialect,
  secretsOf,
} from "../channels/channel.js";
import type { KeySources } from "../contract/key-source.js";
import type { Family } from "../families/family.js";
import { createCapabilityTable, createModelResolver } from "../models/resolve-model.js";
import type { RelatedOptions } from "../options/options.js";
import { createKeyRedaction, createSecretRedaction } from "../redact.js";
import { addLateKeys } from "../upstream/add-late-keys.js";
import { createByteRedaction } from "../upstream/redact-bytes.js";
import { redactTransport } from "../upstream/redact-transport.js";
import type { Transport } from "../upstream/transport.js";

/** What features do for channels. */
interface FromFeatures {
  readonly keySources?: KeySources | undefined;
  readonly changeDialect?: ChangeDialect | undefined;
  readonly readCosts?: ReadCosts | undefined;
}

/**
 * Reads what the channels of the options cost, in their order.
 *
 * @throws GatewayOptionsError
 */
export type ReadCosts = (
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
) => readonly (ChannelCosts | undefined)[];

/** Creates the parts of the kernel that depend on options that can be reloaded. */
export function configureKernel(
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
  { keySources, changeDialect, readCosts }: FromFeatures = {},
) {
  const { models, billing, caseInsensitiveNames } = options;
  const costs = readCosts?.(options, families);
  const channels: readonly Channel[] = options.channels.flatMap((channel, index) => {
    const family = families.get(channel.family);
    if (family === undefined) return [];
    const own = findDialect(family, channel.dialect);
    const dialect = changeDialect === undefined ? own : changeDialect(own, channel, index);
    return [createChannel(channel, family, { dialect, keySources, costs: costs?.[index] })];
  });
  const redactions = createRedactions(channels, keySources);
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
    redact: redactions.redact,
    redactKeys: redactions.redactKeys,
    /** The transport that adds late keys to requests, and redacts the channels' secrets in responses. */
    openTransport: (transport: Transport, now: () => number): Transport => {
      const hasLateKeys = channels.some(({ keys }) => keys.some(({ isLate }) => isLate));
      return redactTransport(hasLateKeys ? addLateKeys(transport, now) : transport, redactions);
    },
  };
}

/** Creates the redactions of the channels' secrets, and of the keys that functions have returned and will return. */
function createRedactions(channels: readonly Channel[], sources: KeySources | undefined) {
  const fixed = channels.flatMap(secretsOf);
  if (sources === undefined) return createRedactionsOf(fixed);
  let returned: readonly string[] | undefined;
  let latest = createRedactionsOf([]);
  const follow = (): typeof latest => {
    if (sources.secrets !== returned) {
      returned = sources.secrets;
      latest = createRedactionsOf([...fixed, ...returned]);
    }
    return latest;
  };
  // Most gateways have strings only.
  if (channels.every(({ keys }) => keys.every(({ source }) => source === undefined))) return follow();
  return {
    redact: (text: string) => follow().redact(text),
    redactKeys: (text: string) => follow().redactKeys(text),
    bytes: { open: () => follow().bytes.open() },
  };
}

function createRedactionsOf(all: readonly string[]) {
  const secrets = [...new Set(all)];
  return {
    redact: createSecretRedaction(secrets),
    redactKeys: createKeyRedaction(secrets),
    bytes: createByteRedaction(secrets),
  };
}
