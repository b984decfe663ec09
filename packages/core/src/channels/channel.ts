import { sha256 } from "#sha256";
import type { Family, UpstreamCall } from "../families/family.js";
import { findSecrets } from "../redact.js";
import type { Timeouts } from "../upstream/transport.js";
import { remember } from "../util/remember.js";
import { createSeriesMap, isSeries } from "../util/series.js";

/** One configured account at a provider. */
export interface ChannelOptions {
  /** Names the channel in usage records and logs. */
  id: string;
  /** The wire format it speaks: `seedream`, `qwen-image`, or the name of a family of yours. */
  family: string;
  /**
   * The provider's key, or several, which take turns and fail one by one. Sent to the provider only;
   * never logged.
   */
  apiKey: string | readonly (string | undefined)[] | undefined;
  /**
   * As the provider's own SDK takes it, such as `https://ark.cn-beijing.volces.com/api/v3`; an
   * address without a path gets the family's. `https`; `http` only on loopback or with `allowHttp`. Default: the
   * family's.
   */
  baseUrl?: string | undefined;
  /**
   * Allow a `baseUrl` with plain `http` that is not on loopback, for an emulator or a proxy in a private network. The
   * key is sent unencrypted. Result links of the same origin may use `http` too. Default false.
   */
  allowHttp?: boolean | undefined;
  /**
   * Service model to the provider's model or endpoint id. A series maps to one name, or, when both
   * end in `*`, name by name (`"image-edit*": "qwen-image-edit*"`). Default: every model of the
   * family under its own name.
   */
  modelMapping?: Readonly<Record<string, string>> | undefined;
  /** Channels of the highest number are tried first. Default 0. */
  priority?: number | undefined;
  /** Share of the traffic among channels of one priority. Default 1. */
  weight?: number | undefined;
  /**
   * Headers that are sent to the provider in addition to those of the family. A value is masked like a key if the
   * header's name says that it is a secret (`x-api-key`, `proxy-authorization`, `cookie` …) or if the value looks
   * random.
   */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds. Default: connect 10 s, first byte 900 s, idle 300 s. */
  timeouts?: Partial<Timeouts> | undefined;
  /** Hosts of result links that may have an address of a private network. Default: none. */
  resultHosts?: readonly string[] | undefined;
  /** Send a request again on another channel even where an image may have been made. Default false. */
  retryUnsafe?: boolean | undefined;
}

/** One of the keys of a channel. */
export interface ChannelKey {
  /** Its place in the options, from 0. */
  readonly index: number;
  readonly apiKey: string;
  /** The headers of a call with it: those of the family, over which stand the channel's, and the key. Not to be changed. */
  readonly toHeaders: (headers: UpstreamCall["headers"]) => UpstreamCall["headers"];
  /** Names its health; where the channel has no other key, that of the channel. */
  readonly healthId: string;
}

/** A channel, ready to send to. */
export interface Channel {
  readonly id: string;
  readonly family: Family;
  /** At least one. */
  readonly keys: readonly ChannelKey[];
  /** Names the health of what its keys have in common. */
  readonly healthId: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly priority: number;
  readonly weight: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeouts: Timeouts;
  readonly resultHosts: readonly string[];
  readonly retryUnsafe: boolean;
  /** Where a call to this path goes. */
  readonly toUrl: (path: string) => string;
  /** The provider's name of a service model, or `undefined` when the channel does not serve it. */
  toUpstreamModel(model: string): string | undefined;
  /** The provider's model names that the mapping contains literally. */
  readonly upstreamNames: ReadonlySet<string>;
  /** The service models that its mapping gives this provider's name; a series where many have it. */
  findServiceModels(upstreamModel: string): readonly string[];
}

/** Where an attempt goes. */
export interface Route {
  readonly channel: Channel;
  readonly key: ChannelKey;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
}

const DEFAULT_TIMEOUTS: Timeouts = { connectMs: 10_000, firstByteMs: 900_000, idleMs: 300_000 };

/** A channel from validated options. */
export function createChannel(options: ChannelOptions, family: Family): Channel {
  const { id, apiKey = "" } = options;
  const baseUrl = toBaseUrl(options.baseUrl ?? family.defaultBaseUrl, family.defaultBaseUrl);
  const headers = toLowerCaseNames(options.headers ?? {});
  const keys = [apiKey].flat().map((text = "", index) => ({
    index,
    apiKey: text,
    toHeaders: createHeaders({ ...headers, authorization: `Bearer ${text}` }),
    healthId: createHealthId(id, baseUrl, text),
  }));
  const [onlyKey, ...others] = keys;
  return {
    id,
    family,
    keys,
    healthId: onlyKey && others.length === 0 ? onlyKey.healthId : createHealthId(id, baseUrl),
    baseUrl,
    priority: options.priority ?? 0,
    weight: options.weight ?? 1,
    headers,
    timeouts: toTimeouts(options.timeouts ?? {}),
    resultHosts: options.resultHosts ?? [],
    retryUnsafe: options.retryUnsafe ?? false,
    // The same text each time, of which is known what a fresh one would have to be worked out of: its hash.
    toUrl: remember((path) => baseUrl + path),
    toUpstreamModel: remember(createModelMapping(options.modelMapping)),
    upstreamNames: new Set(Object.values(options.modelMapping ?? {}).filter((name) => !isSeries(name))),
    findServiceModels: (upstreamModel) => findKeys(options.modelMapping ?? {}, upstreamModel),
  };
}

/** A service model of a request, and its key in `models`: the name itself, or a series that the name belongs to. */
interface NamedModel {
  readonly name: string;
  readonly entry: string;
}

/**
 * The health ids of channels, of their keys, and of a model with each of the keys. These ids are read from the store
 * that gateways share, and kept after a reload. A model whose provider name is not in the options, such as a name of
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
 * Whether the options contain the model's name, of the gateway or of the provider. If they do, clients cannot choose
 * the name.
 */
export function isConfiguredModel(channel: Channel, { name, entry }: NamedModel): boolean {
  return !isSeries(entry) || channel.upstreamNames.has(channel.toUpstreamModel(name) ?? name);
}

/** The secrets that no response, log line or record may contain. */
export function secretsOf({ keys, headers }: Channel): readonly string[] {
  return findSecrets(
    keys.map(({ apiKey }) => apiKey),
    headers,
  );
}

/** Put together once for a family that gives the same headers with each call. */
function createHeaders(own: UpstreamCall["headers"]): ChannelKey["toHeaders"] {
  let latest:
    | { readonly given: UpstreamCall["headers"]; readonly whole: UpstreamCall["headers"] }
    | undefined;
  return (given) => {
    if (latest?.given !== given) latest = { given, whole: Object.freeze({ ...given, ...own }) };
    return latest.whole;
  };
}

/** In one spelling, so that the key and the content type of a call replace those of the options. */
function toLowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function toTimeouts({ connectMs, firstByteMs, idleMs }: Partial<Timeouts>): Timeouts {
  return {
    connectMs: connectMs ?? DEFAULT_TIMEOUTS.connectMs,
    firstByteMs: firstByteMs ?? DEFAULT_TIMEOUTS.firstByteMs,
    idleMs: idleMs ?? DEFAULT_TIMEOUTS.idleMs,
  };
}

/** An address without a path gets the path of the family's own. */
function toBaseUrl(address: string, defaultBaseUrl: string): string {
  const url = new URL(address);
  const path = url.pathname === "/" ? new URL(defaultBaseUrl).pathname : url.pathname;
  return url.origin + path.replace(/\/+$/, "");
}

function createModelMapping(
  mapping: Readonly<Record<string, string>> | undefined,
): Channel["toUpstreamModel"] {
  if (mapping === undefined) return (model) => model;
  const names = createSeriesMap(mapping);
  return (model) => {
    const match = names.find(model);
    return match && (isSeries(match.value) ? match.value.slice(0, -1) + match.rest : match.value);
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
 * Names the health of a channel or of one of its keys, in this process and among the gateways of a
 * fleet. Another address or key gives another name, so that a corrected channel starts afresh. The key cannot be
 * read from it.
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

/** For how long what a request holds is kept for it: longer than any request to these channels takes. */
export function findLeaseMs(channels: readonly Channel[]): number {
  let longestMs = 0;
  let othersMs = 0;
  for (const { timeouts, retryUnsafe } of channels) {
    const { connectMs, firstByteMs, idleMs } = timeouts;
    longestMs = Math.max(longestMs, firstByteMs + idleMs);
    // Elsewhere no other attempt follows one that waited in vain for an answer.
    othersMs += connectMs + (retryUnsafe ? firstByteMs : 0);
  }
  return HOUR_MS + longestMs + othersMs;
}
