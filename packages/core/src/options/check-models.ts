import { type ChannelOptions, findDialect } from "../channels/channel.js";
import type { Family } from "../families/family.js";
import { type CapabilityRows, createCapabilityTable, foldCase, toRowName } from "../models/resolve-model.js";
import { formatPath } from "../util/parse-fields.js";
import { isSeries, overlaps } from "../util/series.js";
import type { OptionsProblem, RelatedOptions } from "./options.js";

/** Checks that families have names of their own. */
export function* checkFamilyNames(
  extra: readonly Family[],
  builtIn: readonly Family[],
): Iterable<OptionsProblem> {
  const names = new Set(builtIn.map(({ name }) => name));
  for (const [index, { name }] of extra.entries()) {
    if (names.has(name)) yield { path: `families[${index}].name`, message: `is taken: ${name}` };
    names.add(name);
  }
}

/** With `caseInsensitiveNames`, each name has one spelling, which all tables use. */
export function* checkSpellings({ models, billing, channels }: RelatedOptions): Iterable<OptionsProblem> {
  const places: readonly (readonly (string | number)[])[] = [
    ...Object.keys(models).map((name) => ["models", name]),
    ...Object.keys(billing?.model_details ?? {}).map((name) => ["billing", "model_details", name]),
    ...channels.flatMap(({ modelMapping = {} }, index) =>
      Object.keys(modelMapping).map((name) => ["channels", index, "modelMapping", name]),
    ),
  ];
  const named = places.map((path) => ({ path: formatPath(path), name: String(path.at(-1)) }));
  for (const [index, { path, name }] of named.entries()) {
    const folded = foldCase(name);
    const other = named
      .slice(0, index)
      .find((earlier) => overlaps(foldCase(earlier.name), folded) && !overlaps(earlier.name, name));
    if (other === undefined) continue;
    yield {
      path,
      message: `is spelled in another case than ${other.path}: with caseInsensitiveNames use one spelling`,
    };
  }
}

/** Checks the families, dialects and rows that models and channels name. */
export function* checkFamilies(
  options: RelatedOptions,
  families: ReadonlyMap<string, Family>,
  rows: CapabilityRows = {},
): Iterable<OptionsProblem> {
  const table = createCapabilityTable(rows);
  const known = [...families.keys()].join(", ");
  for (const [model, { family, capabilities }] of Object.entries(options.models)) {
    const found = families.get(family);
    const path = formatPath(["models", model]);
    if (found === undefined) yield { path: `${path}.family`, message: `must be one of ${known}` };
    else if (typeof capabilities === "string" && table.findCapabilities(found, capabilities) === undefined) {
      yield {
        path: `${path}.capabilities`,
        message: `is not the name of a row of capabilities of ${family}`,
      };
    }
  }
  for (const [index, channel] of options.channels.entries()) {
    const family = families.get(channel.family);
    if (family === undefined) yield { path: `channels[${index}].family`, message: `must be one of ${known}` };
    else yield* checkDialect(channel, family, `channels[${index}]`);
  }
  for (const [name, own] of Object.entries(rows)) {
    const family = families.get(name);
    if (family !== undefined) yield* checkRows(family, Object.keys(own), options.models);
    else yield { path: formatPath(["capabilities", name]), message: `must be one of ${known}` };
  }
}

function* checkDialect(
  { dialect, baseUrl }: ChannelOptions,
  family: Family,
  path: string,
): Iterable<OptionsProblem> {
  const { dialects = {} } = family;
  if (dialect !== undefined && !Object.hasOwn(dialects, dialect)) {
    const names = Object.keys(dialects).join(", ");
    const message = names === "" ? `is not known: ${family.name} has no dialects` : `must be one of ${names}`;
    yield { path: `${path}.dialect`, message };
    return;
  }
  const { defaultBaseUrl } = findDialect(family, dialect);
  if (baseUrl === undefined && defaultBaseUrl === undefined) {
    yield {
      path: `${path}.baseUrl`,
      message: `is missing: the dialect ${dialect} has no address of its own`,
    };
  }
}

/** Checks the names of rows in the option `capabilities` against each other and against the models. */
function* checkRows(
  family: Family,
  keys: readonly string[],
  models: RelatedOptions["models"],
): Iterable<OptionsProblem> {
  const served = Object.entries(models).flatMap(([model, { family: name, capabilities = model }]) =>
    name === family.name && typeof capabilities === "string" ? foldCase(toRowName(family, capabilities)) : [],
  );
  const rowNames = keys.map((key) => toRowName(family, key));
  for (const [index, rowName] of rowNames.entries()) {
    const path = formatPath(["capabilities", family.name, keys[index] ?? ""]);
    const first = rowNames.indexOf(rowName);
    if (first !== index) yield { path, message: `names the same models as ${keys[first]}` };
    // A misspelled name would leave its models unchecked.
    if (!served.some((model) => overlaps(foldCase(rowName), model)))
      yield { path, message: `is a row without a model: no model of ${family.name} has such a name` };
  }
}

/** Checks the ids and names of channels, and that each model has a channel. */
export function* checkChannels({ channels, models }: RelatedOptions): Iterable<OptionsProblem> {
  const ids = new Set<string>();
  for (const [index, { id, modelMapping = {} }] of channels.entries()) {
    if (ids.has(id)) yield { path: `channels[${index}].id`, message: `is used twice: ${id}` };
    ids.add(id);
    for (const [model, target] of Object.entries(modelMapping)) {
      if (isSeries(target) && !isSeries(model)) {
        yield {
          path: formatPath(["channels", index, "modelMapping", model]),
          message: "maps one name to a series",
        };
      }
    }
  }
  for (const [model, { family }] of Object.entries(models)) {
    const served = channels.some(
      (channel) => channel.family === family && serves(channel.modelMapping, model),
    );
    if (!served) yield { path: formatPath(["models", model]), message: "is served by no channel" };
  }
}

/** Whether a mapping can serve a name. A series is served if any of its names can be. */
export function serves(mapping: Readonly<Record<string, string>> | undefined, model: string): boolean {
  return mapping === undefined || Object.keys(mapping).some((key) => overlaps(key, model));
}
