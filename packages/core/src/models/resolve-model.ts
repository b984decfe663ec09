import { type Channel, findLeaseMs, healthIdsOf } from "../channels/channel.js";
import { GatewayError, invalidRequest } from "../errors.js";
import type { Capabilities } from "../families/capabilities.js";
import type { Family } from "../families/family.js";
import type { Caller, CallerLimits, Operation, Preferences } from "../types.js";
import { removeOldest } from "../util/collections.js";
import { isName } from "../util/name.js";
import { createSeriesMap, includesName, isSeries, type SeriesMap } from "../util/series.js";

/** The options of a service model. The preferences of the caller take precedence over those of the model. */
export interface ModelOptions extends Preferences {
  /** The wire format of the providers: `seedream`, `qwen-image`, or the name of your own family. */
  family: string;
  /**
   * What the model can do: your own row, or the name of a model whose row in the family's table or in the option
   * `capabilities` applies. Default: the row of the service name, if there is one.
   */
  capabilities?: string | Capabilities | undefined;
  /**
   * How a model that makes one image per call makes several (`n`) for one request of `/v1`. `{ max }`: with one upstream
   * call for each image; `max` is the largest `n`, from 2 to 100. `false`: not at all; `n` above 1 is a 400. Default
   * `{ max: 10 }`. Has no effect on models that make several images per call.
   */
  fanOut?: false | { readonly max: number } | undefined;
  /**
   * Whether `/v1/images/edits` serves the model, for families that do not serve it by default (`qwen-image`). Default
   * false. Has no effect on other families.
   */
  edits?: boolean | undefined;
  /** Limits of each caller for this model, or for all names of this series together, in addition to its other limits. */
  limits?: CallerLimits | undefined;
}

const DEFAULT_FAN_OUT = { max: 10 };

/** Rows of capabilities of each family, by the names or series of models. */
export type CapabilityRows = Readonly<Record<string, Readonly<Record<string, Capabilities>>>>;

/** A model that a caller may use, and the channels that serve it. */
export interface ResolvedModel {
  /** The service model name. */
  readonly name: string;
  /** Its key in `models`: its name, or the series that the name belongs to. */
  readonly entry: string;
  readonly family: Family;
  readonly capabilities: Capabilities | undefined;
  /** How many upstream calls one request may take, if the model makes one image per call. */
  readonly maxUpstreamCalls: number;
  /** The operations that are served for this model. */
  readonly operations: ReadonlySet<Operation>;
  readonly preferences: Preferences;
  /** Limits of each caller for this model. */
  readonly limits: CallerLimits | undefined;
  /** At least one. */
  readonly channels: readonly Channel[];
  /** The names of their dialects, each once; `undefined` is the family's own. */
  readonly dialects: readonly (string | undefined)[];
  /** The model's names at these channels. */
  readonly upstreamModels: readonly string[];
  /** The health ids of these channels, their keys, and the model with these keys. */
  readonly healthIds: readonly string[];
  readonly channelIds: readonly string[];
  /** The lease of slots, idempotency keys and holds of a call to these channels, in milliseconds. */
  readonly leaseMs: number;
}

/**
 * Finds the model of a request by its service name. For the operation `native` it also finds a model by its name at the
 * provider, if a channel maps to that name.
 *
 * @throws GatewayError if there is no such model for this caller
 */
export type ModelResolver = (model: unknown, caller: Caller, operation: Operation) => ResolvedModel;

/** The options of a resolver, in addition to the families and channels. */
export interface ModelTables {
  readonly models: Readonly<Record<string, ModelOptions>>;
  /** Further configured names and series, such as the keys of prices. */
  readonly otherNames?: readonly string[] | undefined;
  /** See {@link GatewayOptions.caseInsensitiveNames}. */
  readonly isCaseInsensitive?: boolean | undefined;
  /** Default: the families' own rows only. */
  readonly capabilities?: CapabilityTable | undefined;
}

/** Creates a resolver from validated options. */
export function createModelResolver(
  { models, otherNames = [], isCaseInsensitive = false, capabilities: rows }: ModelTables,
  families: ReadonlyMap<string, Family>,
  channels: readonly Channel[],
): ModelResolver {
  const { findCapabilities, findRow } = rows ?? createCapabilityTable();
  const spell = createSpeller([...Object.keys(models), ...otherNames]);
  const table = createSeriesMap(models);
  const exactNames = Object.keys(models).filter((key) => !isSeries(key));
  const serves = (channel: Channel, name: string): boolean =>
    table.find(name)?.value.family === channel.family.name && channel.toUpstreamModel(name) !== undefined;

  const findServing = (name: string): ResolvedModel | undefined => {
    const match = table.find(name);
    const family = match && families.get(match.value.family);
    if (match === undefined || family === undefined) return undefined;
    const serving = channels.filter((channel) => serves(channel, name));
    if (serving.length === 0) return undefined;
    const { capabilities, fanOut = DEFAULT_FAN_OUT, edits, limits } = match.value;
    const { responseFormat, streamFormat, sizes } = match.value;
    return {
      name,
      entry: match.key,
      family,
      capabilities: findCapabilities(family, capabilities ?? name),
      maxUpstreamCalls: fanOut === false ? 1 : fanOut.max,
      operations: findOperations(family, edits),
      preferences: { responseFormat, streamFormat, sizes },
      limits,
      ...describeChannels({ name, entry: match.key }, serving),
    };
  };

  // Computed once, so that a request does not look at hundreds of channels.
  const exact = new Map(exactNames.map((name) => [name, findServing(name)]));
  const findInSeries = remember((name: string) => {
    const found = isPlainName(name) && spell(name) === name ? findServing(name) : undefined;
    return found === undefined || isCaseInsensitive || !isOtherRow(found) ? found : undefined;
  });
  /** True if another case of the name selects another row of capabilities: `image-2.0-PRO` would get the row of `image-2.0*`. */
  const isOtherRow = ({ name, entry, family }: ResolvedModel): boolean => {
    const isByName = typeof models[entry]?.capabilities === "undefined";
    return isByName && !isSameRow(findRow(family, name), findRow(family, foldRest(name, entry)));
  };
  const findByServiceName = (name: string): ResolvedModel | undefined =>
    exact.get(name) ?? findInSeries(name);

  const exactNamesOf = createNameIndex([...exact.values()]);

  /** Returns the service models that some channel maps to this name of the provider. May include series. */
  const findNames = (identifier: string): ReadonlySet<string> => {
    const found = channels.flatMap((channel) =>
      channel
        .findServiceModels(identifier)
        .filter((name) => serves(channel, name) && channel.toUpstreamModel(name) === identifier),
    );
    return new Set([...(exactNamesOf.get(identifier) ?? []), ...found]);
  };

  const findByIdentifier = remember((identifier: string) => {
    const [name = "", ...others] = findNames(identifier);
    if (others.length > 0 || isSeries(name)) {
      throw invalidRequest(
        `Several models are mapped to ${identifier.slice(0, 128)}: send the service model's name.`,
        "model",
      );
    }
    const found = findByServiceName(name);
    const mapped = found?.channels.filter((channel) => channel.toUpstreamModel(name) === identifier) ?? [];
    return found && mapped.length > 0 ? { ...found, ...describeChannels(found, mapped) } : undefined;
  });

  const mayUse = (caller: Caller, name: string): boolean => mayUseModel(caller, name, isCaseInsensitive);

  /** Returns the name of a model whose name differs only in case, if the caller may use that model. */
  const findOtherCase = (name: string, caller: Caller): string | undefined => {
    const spelled = spell(name);
    const entry = table.find(spelled)?.key ?? "";
    const candidates = [spelled, foldRest(spelled, entry)].filter((candidate) => candidate !== name);
    return candidates.find((candidate) => mayUse(caller, candidate) && findByServiceName(candidate));
  };

  return (model, caller, operation) => {
    const name = readModelName(model);
    const found =
      findByServiceName(isCaseInsensitive ? spell(foldCase(name)) : name) ??
      (operation === "native" ? findByIdentifier(name) : undefined);
    if (found === undefined) throw notFoundError(name, findOtherCase(name, caller));
    if (!mayUse(caller, found.name)) {
      throw new GatewayError(
        "model_not_allowed",
        `This API key may not use the model ${name.slice(0, 128)}.`,
        {
          param: "model",
        },
      );
    }
    return found;
  };
}

/** Whether a caller may use the model with this name. */
export function mayUseModel({ models: allowed }: Caller, name: string, isCaseInsensitive: boolean): boolean {
  if (allowed === undefined) return true;
  return isCaseInsensitive
    ? includesName(allowed.map(foldCase), foldCase(name))
    : includesName(allowed, name);
}

/** @param edits the option of the model */
function findOperations({ operations, editsNeedOption }: Family, edits = false): ReadonlySet<Operation> {
  if (editsNeedOption !== true || edits) return operations;
  return new Set([...operations].filter((operation) => operation !== "edit"));
}

/** @param otherCase the name of a model whose name differs only in case */
export function notFoundError(name: string, otherCase?: string): GatewayError {
  const advice = otherCase === undefined ? "" : ` Names are case-sensitive: send ${otherCase.slice(0, 128)}.`;
  const message = `The model ${name.slice(0, 128)} does not exist.${advice}`;
  return new GatewayError("model_not_found", message, { param: "model" });
}

/** Returns the name with the open part of the series in lower case. */
function foldRest(name: string, entry: string): string {
  const prefix = isSeries(entry) ? name.slice(0, entry.length - 1) : name;
  return prefix + foldCase(name.slice(prefix.length));
}

function isSameRow(a: Capabilities | undefined, b: Capabilities | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

type Served = Pick<
  ResolvedModel,
  "channels" | "dialects" | "upstreamModels" | "healthIds" | "channelIds" | "leaseMs"
>;

/** Returns the properties of a model that depend on its channels. */
function describeChannels(
  { name, entry }: Pick<ResolvedModel, "name" | "entry">,
  channels: readonly Channel[],
): Served {
  return {
    channels,
    dialects: [...new Set(channels.map(({ dialectName }) => dialectName))],
    upstreamModels: channels.map((channel) => channel.toUpstreamModel(name) ?? name),
    healthIds: healthIdsOf(channels, { name, entry }),
    channelIds: channels.map(({ id }) => id),
    leaseMs: findLeaseMs(channels),
  };
}

function readModelName(model: unknown): string {
  if (model === undefined || model === null || model === "")
    throw invalidRequest("model is required", "model");
  if (typeof model !== "string") throw invalidRequest("model must be a string.", "model");
  return model;
}

const MAX_NAME_LENGTH = 256;

/**
 * Limits the names of a series. Clients choose these names, and they are stored in holds, records, logs and
 * databases.
 */
function isPlainName(name: string): boolean {
  return name.length <= MAX_NAME_LENGTH && isName(name) && /^[^\p{Cc}\p{Cs}]+$/u.test(name);
}

/** Returns the service models for each name of the provider that a channel maps them to. */
function createNameIndex(
  models: readonly (ResolvedModel | undefined)[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const names = new Map<string, Set<string>>();
  for (const { name, channels } of models.filter((model) => model !== undefined)) {
    for (const channel of channels) {
      const identifier = channel.toUpstreamModel(name) ?? name;
      names.set(identifier, (names.get(identifier) ?? new Set()).add(name));
    }
  }
  return names;
}

/** The rows of the options and of the families. */
export interface CapabilityTable {
  /** What a model can do: by its own row, by the name of a row, or by its service name. Upper and lower case are equal. */
  readonly findCapabilities: (family: Family, row: string | Capabilities) => Capabilities | undefined;
  /** The row with this name, in the same letter case. */
  readonly findRow: (family: Family, name: string) => Capabilities | undefined;
}

/** @param rows validated rows of the options, which come before those of the families */
export function createCapabilityTable(rows: CapabilityRows = {}): CapabilityTable {
  const tables = new Map<Family, SeriesMap<Capabilities>>();
  const tableOf = (family: Family): SeriesMap<Capabilities> => {
    const known = tables.get(family);
    if (known !== undefined) return known;
    const own = Object.entries(rows[family.name] ?? {});
    const table = createSeriesMap(Object.fromEntries(own.map(([key, row]) => [toRowName(family, key), row])));
    tables.set(family, table);
    return table;
  };
  const findRow = (family: Family, name: string): Capabilities | undefined =>
    tableOf(family).find(toRowName(family, name))?.value ?? family.findCapabilities?.(name);
  return {
    findRow,
    findCapabilities(family, row) {
      if (typeof row === "object") return row;
      // The names of rows are in lower case. An operator may write a model's name in another case.
      return findRow(family, row) ?? findRow(family, foldCase(row));
    },
  };
}

/** The name of a model as rows write it: without the provider's prefix. */
export function toRowName(family: Family, name: string): string {
  return family.toRowName?.(name) ?? name;
}

/**
 * Converts A to Z to lower case and nothing else, so that the length stays the same. Model names are compared in this
 * form if case does not count.
 */
export function foldCase(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/**
 * Returns the configured spelling of a name, ignoring case: the spelling of a configured name, or the prefix of the
 * longest configured series with the rest unchanged. The result differs from the name only if the name differs in
 * case from the configuration.
 *
 * @param keys configured names and series
 */
export function createSpeller(keys: readonly string[]): (name: string) => string {
  const exact = new Set(keys.filter((key) => !isSeries(key)));
  const byFolded = createSeriesMap(Object.fromEntries(keys.map((key) => [foldCase(key), key])));
  const bySpelling = createSeriesMap(Object.fromEntries(keys.map((key) => [key, key])));
  return (name) => {
    if (exact.has(name)) return name;
    const folded = byFolded.find(foldCase(name));
    if (folded === undefined) return name;
    if (!isSeries(folded.key)) return folded.value;
    const same = bySpelling.find(name);
    // Two series may differ only in case. Then the one with the exact spelling of the name is used.
    const series = same?.key.length === folded.key.length ? same.key : folded.value;
    return series.slice(0, -1) + name.slice(series.length - 1);
  };
}

/** The maximum number of results, and the maximum length of a key: clients can send any number of names of any length. */
const CAPACITY = 1_000;
const MAX_KEY_LENGTH = 256;

/**
 * Caches the latest results of a pure function. `undefined`, which means that nothing was found, is not cached.
 *
 * @param keyOf returns a value that identifies the input; needed unless the input is a string or a number
 */
export function remember<Input, Result>(
  compute: (input: Input) => Result,
  keyOf: (input: Input) => unknown = (input) => input,
): (input: Input) => Result {
  const results = new Map<unknown, Result>();
  return (input) => {
    const key = keyOf(input);
    const known = results.get(key);
    if (known !== undefined) return known;
    const found = compute(input);
    if (found === undefined || (typeof key === "string" && key.length > MAX_KEY_LENGTH)) return found;
    results.set(key, found);
    removeOldest(results, CAPACITY);
    return found;
  };
}
