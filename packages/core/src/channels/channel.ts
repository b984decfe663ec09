import type { ModelDetails } from "../billing/model-details.js";
import type { ChannelCosts } from "../billing/outcome.js";
import type { KeyFunction, KeySource, KeySources } from "../contract/key-source.js";
import type { Dialect } from "../families/dialect.js";
import type { Family } from "../families/family.js";
import type { JobProtocol } from "../families/job.js";
import { findSecrets } from "../redact.js";
import { isPromiseLike } from "../util/async.js";
import { createSeriesMap, isSeries } from "../util/series.js";
import { sha256 } from "../util/sha256.js";
import { type Address, readAddress } from "./address.js";

/** One configured account at a provider. */
export interface ChannelOptions {
  /** Names the channel in usage records and logs. */
  id: string;
  /** The provider's wire format: `seedream`, `qwen-image`, or the name of your own family. */
  family: string;
  /**
   * The service, if it speaks the wire format of the family in another way than the family's own provider. The
   * documentation of the family lists the names. Default: the family's own provider.
   */
  dialect?: string | undefined;
  /**
   * The provider's key, or several keys. The keys take turns, and each has its own cooldowns. Keys are sent to the
   * provider only, and never logged. For a service whose keys expire, a function that returns one.
   */
  apiKey: string | KeyFunction | readonly (string | KeyFunction | undefined)[] | undefined;
  /**
   * The base URL as in the provider's own SDK, such as `https://ark.cn-beijing.volces.com/api/v3`. A URL without a path
   * gets the path of the family's URL. A query, such as `?api-version=v1`, is added to each call. Must be `https`; `http`
   * is allowed on loopback and with `allowHttp`. Default: the family's URL.
   */
  baseUrl?: string | undefined;
  /**
   * Allow a `baseUrl` with plain `http` that is not on loopback, for an emulator or a proxy in a private network. The
   * key is sent unencrypted. Result links of the same origin may use `http` too. Default false.
   */
  allowHttp?: boolean | undefined;
  /**
   * Maps service models to the provider's model or endpoint ids. A series maps to one name, or to a series
   * (`"image-edit*": "qwen-image-edit*"`). Default: every model of the family under its own name.
   */
  modelMapping?: Readonly<Record<string, string>> | undefined;
  /** Channels with the highest number are tried first. Default 0. */
  priority?: number | undefined;
  /** Share of the traffic among channels with the same priority. Default 1. */
  weight?: number | undefined;
  /**
   * Headers that are sent to the provider in addition to those of the family. A value is redacted like a key if the
   * header's name says that it is a secret (`x-api-key`, `proxy-authorization`, `cookie` …) or if the value looks
   * random.
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /**
   * Changes of the fields that are sent to the provider, by service model or series. They apply after the family has translated
   * the request, on every endpoint. Fields that decide what is made and charged cannot be named. Default: none.
   */
  parameters?: Readonly<Record<string, FieldChanges>> | undefined;
  /**
   * What you pay for the images of this channel: prices by service model or series, as in `billing.model_details`, or `"reported"`
   * for what the provider reports in dollars. Records then have `cost`. Charges never depend on it. Default: costs are not known.
   */
  costs?: Readonly<Record<string, ModelDetails>> | "reported" | undefined;
  /** How long the provider may take to connect, to respond, and between two chunks. */
  timeouts?: TimeoutOptions | undefined;
  /**
   * Hosts of result links that may have an address in a private network. Links to them are also accepted in requests. Default:
   * none.
   */
  resultHosts?: readonly string[] | undefined;
  /** Send a request again on another channel even if an image may have been made. Default false. */
  retryUnsafe?: boolean | undefined;
}

/** Changes of the fields that a provider gets, in its own spelling. */
export interface FieldChanges {
  /** Sent in place of what the client and the family say. Members of an object are set one by one. */
  readonly set?: Readonly<Record<string, unknown>> | undefined;
  /** Sent if the field is absent. */
  readonly default?: Readonly<Record<string, unknown>> | undefined;
  /** Fields that are not sent. A member of an object is `parameters.watermark`. Removed before the others are set. */
  readonly remove?: readonly string[] | undefined;
}

/** Returns a dialect whose calls are changed as the options of a channel say. */
export type ChangeDialect = (dialect: Dialect, channel: ChannelOptions, index: number) => Dialect;

/** How long a provider may take. */
export interface TimeoutOptions {
  /** Until the connection is accepted. Default 10. */
  readonly connectSeconds?: number | undefined;
  /** From the end of the request to the first byte of the response. An image takes a minute and more. Default 900. */
  readonly firstByteSeconds?: number | undefined;
  /** Between two chunks of the response. Default 300. */
  readonly idleSeconds?: number | undefined;
}

/** How long a provider may take, in milliseconds. */
export interface Timeouts {
  /** Until the connection is accepted. */
  readonly connectMs: number;
  /** From the end of the request to the first byte of the response. Images take a minute and more. */
  readonly firstByteMs: number;
  /** Between two chunks of the response. */
  readonly idleMs: number;
}

/** One of the keys of a channel. */
export interface ChannelKey {
  /** Its index in the options, from 0. */
  readonly index: number;
  /** `undefined` if a function returns it. */
  readonly apiKey: string | undefined;
  /** Set if a function returns it. */
  readonly source: KeySource | undefined;
  /** True if its headers are not known before a request is sent: a function returns the key, or the family signs. */
  readonly isLate: boolean;
  /** Adds the headers of the channel and the key to the headers of a call. */
  readonly toHeaders: (headers?: CallHeaders) => CallHeaders;
  /** The same for a call whose body is JSON. */
  readonly toJsonHeaders: (headers?: CallHeaders) => CallHeaders;
  /** Names the health of the key. If the channel has one key, this is the channel's id too. */
  readonly healthId: string;
}

/** A channel with all defaults. */
export interface Channel {
  readonly id: string;
  readonly family: Family;
  /** How the channel's service is spoken to, and its name; `undefined` for the family's own. */
  readonly dialect: Dialect;
  readonly dialectName: string | undefined;
  /** At least one. */
  readonly keys: readonly ChannelKey[];
  /** Names the health of the channel apart from its keys. */
  readonly healthId: string;
  readonly baseUrl: Address["baseUrl"];
  readonly query: Address["query"];
  readonly priority: number;
  readonly weight: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeouts: Timeouts;
  readonly resultHosts: readonly string[];
  readonly retryUnsafe: boolean;
  /** What the channel costs the operator. `undefined`: not known. */
  readonly costs: ChannelCosts | undefined;
  readonly toUrl: Address["toUrl"];
  /** Returns the provider's name of a service model, or `undefined` if the channel does not serve it. */
  toUpstreamModel(model: string): string | undefined;
  /** The provider's model names that the mapping contains literally. */
  readonly upstreamNames: ReadonlySet<string>;
  /** False if the channel sends the names of service models as they are. */
  readonly hasMapping: boolean;
  /** The keys of the mapping: names and series of service models. */
  readonly mappedNames: readonly string[];
  /** Returns the service models that map to a name of the provider. May include series. */
  findServiceModels(upstreamModel: string): readonly string[];
}

/** The channel, the key and the model of an attempt. */
export interface Route {
  readonly channel: Channel;
  readonly key: ChannelKey;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
}

const DEFAULT_TIMEOUTS = { connectSeconds: 10, firstByteSeconds: 900, idleSeconds: 300 };

/**
 * Creates a channel from validated options.
 *
 * @param parts `keySources` calls the functions that return keys. Without it, such a key has no `source`. `dialect` replaces the
 *   dialect that the options name
 */
export function createChannel(
  options: ChannelOptions,
  family: Family,
  {
    dialect = findDialect(family, options.dialect),
    keySources,
    costs,
  }: {
    readonly dialect?: Dialect;
    readonly keySources?: KeySources | undefined;
    readonly costs?: ChannelCosts | undefined;
  } = {},
): Channel {
  const { id, apiKey = "" } = options;
  const address = readAddress(options.baseUrl, dialect);
  const headers = toLowerCaseNames(options.headers ?? {});
  const keys = [apiKey].flat().map((key = "", index): ChannelKey => {
    const isKnown = typeof key === "string";
    // A function has no value that tells it from others, so its place names its health.
    const healthId = isKnown
      ? createHealthId(id, address.full, key)
      : createHealthId(id, address.full, "", `${index}`);
    const place = {
      channel: id,
      index,
      healthId,
      toSecrets: (other: string) => secretsOfKey(dialect, other),
    };
    const isLate = !isKnown || dialect.signs !== undefined;
    const own = isLate ? headers : { ...headers, ...authorize(dialect, key) };
    const ofJson = { "content-type": "application/json", ...own };
    return {
      index,
      apiKey: isKnown ? key : undefined,
      source: isKnown ? undefined : keySources?.open(place, key),
      isLate,
      toHeaders: (given) => (given === undefined ? own : { ...toLowerCaseNames(given), ...own }),
      toJsonHeaders: (given) =>
        given === undefined ? ofJson : { ...ofJson, ...toLowerCaseNames(given), ...own },
      healthId,
    };
  });
  const [onlyKey, ...others] = keys;
  return {
    id,
    family,
    dialect,
    dialectName: options.dialect,
    keys,
    healthId: onlyKey && others.length === 0 ? onlyKey.healthId : createHealthId(id, address.full),
    baseUrl: address.baseUrl,
    query: address.query,
    priority: options.priority ?? 0,
    weight: options.weight ?? 1,
    headers,
    timeouts: toTimeouts(options.timeouts ?? {}),
    resultHosts: options.resultHosts ?? [],
    retryUnsafe: options.retryUnsafe ?? false,
    costs,
    toUrl: (call) => address.toUrl(call),
    toUpstreamModel: createModelMapping(options.modelMapping),
    upstreamNames: new Set(Object.values(options.modelMapping ?? {}).filter((name) => !isSeries(name))),
    hasMapping: options.modelMapping !== undefined,
    mappedNames: Object.keys(options.modelMapping ?? {}),
    findServiceModels: (upstreamModel) => findKeys(options.modelMapping ?? {}, upstreamModel),
  };
}

/** A service model and its key in `models`: the name itself, or the series that the name belongs to. */
interface NamedModel {
  readonly name: string;
  readonly entry: string;
}

/**
 * Returns the health ids of channels, of their keys, and of a model with each key. The cooldowns of these ids are read
 * from the store that gateways share, and kept after a reload. A model whose provider name is not in the options, such as a name of
 * a series, has no id here: clients could choose an unlimited number of names.
 */
export function healthIdsOf(channels: readonly Channel[], model?: NamedModel): string[] {
  return channels.flatMap((channel) => {
    const keyIds = channel.keys.map(({ healthId }) => healthId);
    const ids = keyIds.length === 1 ? keyIds : [channel.healthId, ...keyIds];
    if (model === undefined) return ids;
    if (!isConfiguredModel(channel, model)) return ids;
    const upstreamModel = channel.toUpstreamModel(model.name) ?? model.name;
    return [...ids, ...keyIds.map((id) => createModelHealthId(id, upstreamModel))];
  });
}

/**
 * Returns true if the options contain the model's name or its name at the provider. Then clients cannot choose the
 * name.
 */
export function isConfiguredModel(channel: Channel, { name, entry }: NamedModel): boolean {
  return !isSeries(entry) || channel.upstreamNames.has(channel.toUpstreamModel(name) ?? name);
}

/** Returns the secrets that no response, log line or record may contain, without keys that functions return. */
export function secretsOf({ keys, headers, query, dialect }: Channel): readonly string[] {
  const ofKeys = keys.flatMap(({ apiKey }) => (apiKey === undefined ? [] : secretsOfKey(dialect, apiKey)));
  return [...new Set([...ofKeys, ...findSecrets([], { ...query, ...headers })])];
}

/** A header may have the key in another form, such as base64. */
function secretsOfKey(dialect: Dialect, apiKey: string): readonly string[] {
  const isPlain = dialect.authorize === undefined || dialect.signs !== undefined;
  return findSecrets([apiKey], isPlain ? {} : authorize(dialect, apiKey));
}

/** Lower case, so that the headers of the key and of the options replace those of the family. */
export function toLowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function toTimeouts({ connectSeconds, firstByteSeconds, idleSeconds }: TimeoutOptions): Timeouts {
  return {
    connectMs: (connectSeconds ?? DEFAULT_TIMEOUTS.connectSeconds) * 1000,
    firstByteMs: (firstByteSeconds ?? DEFAULT_TIMEOUTS.firstByteSeconds) * 1000,
    idleMs: (idleSeconds ?? DEFAULT_TIMEOUTS.idleSeconds) * 1000,
  };
}

/** The headers of a call to a provider. */
type CallHeaders = Readonly<Record<string, string>>;

/**
 * Returns the headers that carry a key, of a family that does not sign.
 *
 * @throws TypeError if the family returns a promise
 */
export function authorize(dialect: Dialect, key: string): CallHeaders {
  const headers = dialect.authorize?.(key) ?? { authorization: `Bearer ${key}` };
  if (isPromiseLike(headers)) {
    headers.then(undefined, () => undefined);
    throw new TypeError("authorize of a family without signs returned a promise.");
  }
  return toLowerCaseNames(headers);
}

/** The family with what the dialect does differently. Its own methods stay methods. */
export function findDialect(family: Family, name: string | undefined): Dialect {
  if (name === undefined) return family;
  const own: Dialect = Object.create(family);
  return Object.assign(own, family.dialects?.[name]);
}

/** How the provider of a dialect works with jobs. `undefined` if its first response is the result. */
export const findJobs = ({ jobs, tasks }: Dialect): JobProtocol | undefined => jobs ?? tasks;

function createModelMapping(
  mapping: Readonly<Record<string, string>> | undefined,
): Channel["toUpstreamModel"] {
  if (mapping === undefined) return (model) => model;
  const names = createSeriesMap(mapping);
  const find = (model: string): string | undefined => {
    const match = names.find(model);
    return match && (isSeries(match.value) ? match.value.slice(0, -1) + match.rest : match.value);
  };
  let last: { readonly model: string; readonly found: string | undefined } | undefined;
  return (model) => {
    // Several steps of a request ask for the same model.
    if (last?.model !== model) last = { model, found: find(model) };
    return last.found;
  };
}

function findKeys(mapping: Readonly<Record<string, string>>, upstreamModel: string): readonly string[] {
  return Object.entries(mapping).flatMap(([key, target]) => {
    if (!isSeries(target)) return target === upstreamModel ? [key] : [];
    const prefix = target.slice(0, -1);
    return upstreamModel.startsWith(prefix) ? [key.slice(0, -1) + upstreamModel.slice(prefix.length)] : [];
  });
}

const FINGERPRINT_DIGITS = 16;

/**
 * Returns the health id of a channel or of one of its keys. All gateways with the same options have the same id. Another
 * URL or key has another id, so a corrected channel begins without cooldowns. The key cannot be read from the id.
 */
function createHealthId(channelId: string, ...account: readonly string[]): string {
  const hash = sha256(account.join("\n"));
  return `${channelId}@${hash.slice(0, FINGERPRINT_DIGITS)}`;
}

/** Returns the health id of one model with one key of a channel. */
export function createModelHealthId(keyHealthId: string, upstreamModel: string): string {
  return `${keyHealthId}/${upstreamModel}`;
}

/** Splits an id of {@link createModelHealthId} into key and model. Returns `undefined` for the id of a channel or key. */
export function readModelHealthId(
  id: string,
): { readonly keyHealthId: string; readonly upstreamModel: string } | undefined {
  const [, keyHealthId, upstreamModel] = /^(.*@[0-9a-f]{16})\/(.+)$/s.exec(id) ?? [];
  if (keyHealthId === undefined || upstreamModel === undefined) return undefined;
  return { keyHealthId, upstreamModel };
}

const HOUR_MS = 3_600_000;

/** How many upstream calls of one request run at the same time. */
export const MAX_UPSTREAM_CALLS_AT_ONCE = 4;

/**
 * Returns a time that is longer than any call to these channels. Slots, keys and holds of a call are leased for it.
 *
 * @param upstreamCalls how many upstream calls the request takes
 */
export function findLeaseMs(channels: readonly Channel[], upstreamCalls = 1): number {
  let longestMs = 0;
  let othersMs = 0;
  for (const { timeouts, retryUnsafe } of channels) {
    const { connectMs, firstByteMs, idleMs } = timeouts;
    longestMs = Math.max(longestMs, firstByteMs + idleMs);
    // Without `retryUnsafe` no attempt follows one that timed out.
    othersMs += connectMs + (retryUnsafe ? firstByteMs : 0);
  }
  const rounds = Math.ceil(upstreamCalls / MAX_UPSTREAM_CALLS_AT_ONCE);
  return HOUR_MS + rounds * (longestMs + othersMs);
}
