import type { Channel } from "../channels/channel.js";
import type { Family } from "../families/family.js";
import type { Caller } from "../types.js";
import { covers, isSeries } from "../util/series.js";
import {
  type CapabilityRows,
  type ModelOptions,
  type ModelResolver,
  type ResolvedModel,
  toRowName,
} from "./resolve-model.js";

/** Where the names of models come from. */
export interface ModelNameSources {
  readonly models: Readonly<Record<string, ModelOptions>>;
  readonly channels: readonly Channel[];
  /** The keys of prices. */
  readonly priceNames: readonly string[];
  /** The rows of the option `capabilities`. */
  readonly rows: CapabilityRows;
}

/**
 * Returns all models that have an exact name and that some channel serves, in the order of the options. A series appears
 * as the names that mappings, prices and rows of models give it.
 */
export function listModels(sources: ModelNameSources, resolveModel: ModelResolver): readonly ResolvedModel[] {
  const names = new Set<string>();
  for (const [key, { family }] of Object.entries(sources.models)) {
    if (!isSeries(key)) names.add(key);
    else for (const name of namesOfSeries(key, family, sources)) names.add(name);
  }
  const found = [...names]
    .map((name) => findModel(name, resolveModel))
    .filter((model) => model !== undefined);
  // With `caseInsensitiveNames`, two spellings of one name find the same model.
  return [...new Map(found.map((model) => [model.name, model])).values()];
}

/** May use every model. */
const ANYONE: Caller = { id: "" };

/** Returns `undefined` if no channel serves the name, or if the name is a misspelled one of another model. */
function findModel(name: string, resolveModel: ModelResolver): ResolvedModel | undefined {
  try {
    return resolveModel(name, ANYONE, "generate");
  } catch {
    return undefined;
  }
}

function namesOfSeries(
  key: string,
  familyName: string,
  { channels, priceNames, rows }: ModelNameSources,
): readonly string[] {
  const serving = channels.filter(({ family }) => family.name === familyName);
  const ownRows = Object.keys(rows[familyName] ?? {});
  const candidates = [
    ...serving.flatMap(({ mappedNames }) => mappedNames),
    ...priceNames,
    ...serving.flatMap((channel) => {
      const upstreamNames = [...ownRows, ...(channel.family.modelNames ?? [])].filter(
        (name) => !isSeries(name),
      );
      return upstreamNames.flatMap((name) => findServiceNames(name, key, channel));
    }),
  ];
  return candidates.filter((name) => !isSeries(name) && covers(key, name));
}

/** The names of a series for which the channel sends this name to its provider. */
function findServiceNames(upstreamName: string, key: string, channel: Channel): readonly string[] {
  if (!channel.hasMapping) return respell(upstreamName, key, channel.family);
  return channel
    .findServiceModels(upstreamName)
    .filter((name) => channel.toUpstreamModel(name) === upstreamName);
}

/** A channel without a mapping sends names as they are. The series may leave out the provider's prefix: `image-edit*`. */
function respell(name: string, key: string, family: Family): readonly string[] {
  if (covers(key, name)) return [name];
  const rowKey = toRowName(family, key);
  return isSeries(rowKey) && covers(rowKey, name) ? [key.slice(0, -1) + name.slice(rowKey.length - 1)] : [];
}
