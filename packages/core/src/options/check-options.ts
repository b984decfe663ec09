import type { PriceTables } from "../billing/pricing.js";
import type { ChannelOptions } from "../channels/channel.js";
import type { Family } from "../families/family.js";
import { builtInFamilies } from "../families/registry.js";
import { foldCase } from "../models/resolve-model.js";
import { isJsonObject } from "../util/json.js";
import { formatPath } from "../util/parse-fields.js";
import { covers, createSeriesMap, isSeries, overlaps } from "../util/series.js";
import { checkCallers } from "./check-callers.js";
import type { LoadedOptions } from "./load-options.js";
import type { GatewayOptions } from "./options.js";
import type { OptionsProblem } from "./options-problem.js";
import { fixedOptionsSchema, gatewayOptionsSchema } from "./options-schema.js";

/** Thrown by `createGateway`: every problem of the options at once. */
export class GatewayOptionsError extends Error {
  override readonly name = "GatewayOptionsError";
  readonly problems: readonly OptionsProblem[];

  constructor(problems: readonly OptionsProblem[]) {
    const lines = problems.map(({ path, message }) => `  ${path === "" ? "options" : path} ${message}`);
    super(`The options of the gateway are wrong:\n${lines.join("\n")}`);
    this.problems = problems;
  }
}

/**
 * Checks the options whole and gives the families they may name. What spans several options is
 * checked where each of them has its shape, so that one run finds as much as can be found.
 *
 * @throws GatewayOptionsError
 */
export function checkOptions(options: LoadedOptions): ReadonlyMap<string, Family> {
  const parsed = gatewayOptionsSchema.safeParse(options);
  const issues = parsed.error?.issues ?? [];
  const problems = issues.flatMap(toProblems);
  if (!isJsonObject(options)) throw new GatewayOptionsError(problems);
  const broken = new Set(issues.filter((issue) => !isLocal(issue)).map(({ path }) => path[0]));
  const isSound = (...parts: (keyof GatewayOptions)[]): boolean => !parts.some((part) => broken.has(part));
  const extra = isSound("families") ? (options.families ?? []) : [];
  const families = new Map([...builtInFamilies, ...extra].map((family) => [family.name, family]));
  problems.push(...checkFamilyNames(extra), ...checkAccess(options));
  if (isSound("callers", "billing")) problems.push(...checkCallers(options.callers ?? [], options.billing));
  if (options.caseInsensitiveNames === true && isSound("models", "channels", "billing")) {
    problems.push(...checkSpellings(options));
  }
  if (isSound("models", "channels", "families")) {
    problems.push(...checkFamilies(options, families), ...checkChannels(options));
    if (isSound("billing")) problems.push(...checkPrices(options, families));
  }
  if (problems.length > 0) throw new GatewayOptionsError(problems);
  return families;
}

/**
 * Checks the options that are no functions, where others take time to be read: what is wrong with them shows at once.
 *
 * @throws GatewayOptionsError
 */
export function checkFixedOptions(options: GatewayOptions): void {
  const { models: _models, channels: _channels, callers: _apiKeys, billing: _billing, ...fixed } = options;
  const problems = (fixedOptionsSchema.safeParse(fixed).error?.issues ?? []).flatMap(toProblems);
  if (problems.length > 0) throw new GatewayOptionsError(problems);
}

/** The options of a channel that other options are checked against. */
const SPANNING: ReadonlySet<PropertyKey> = new Set<keyof ChannelOptions>(["id", "family", "modelMapping"]);

/** True for an issue that no other option depends on, such as a missing key. */
function isLocal({ path: [list, , option] }: Issue): boolean {
  return list === "channels" && option !== undefined && !SPANNING.has(option);
}

interface Issue {
  readonly code?: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
  /** Of a key of a record: what is wrong with it. */
  readonly issues?: readonly Issue[];
  /** Of a union: what each of its alternatives found wrong. */
  readonly errors?: readonly (readonly Issue[])[];
}

function toProblems(issue: Issue): OptionsProblem[] {
  const meant = issue.issues ?? issue.errors?.find((issues) => !issues.some(isOfAnotherType));
  if (meant !== undefined) {
    return meant.flatMap((inner) => toProblems({ ...inner, path: [...issue.path, ...inner.path] }));
  }
  if (issue.code !== "unrecognized_keys") return [{ path: formatPath(issue.path), message: issue.message }];
  return (issue.keys ?? []).map((key) => ({
    path: formatPath([...issue.path, key]),
    message: "is not an option",
  }));
}

/** True when the value as a whole is not what the alternative of a union is for. */
function isOfAnotherType({ path, code }: Issue): boolean {
  return path.length === 0 && (code === "invalid_type" || code === "invalid_value");
}

function* checkFamilyNames(extra: readonly Family[]): Iterable<OptionsProblem> {
  const names = new Set(builtInFamilies.map(({ name }) => name));
  for (const [index, { name }] of extra.entries()) {
    if (names.has(name)) yield { path: `families[${index}].name`, message: `is taken: ${name}` };
    names.add(name);
  }
}

function* checkAccess({ callers, authenticate }: LoadedOptions): Iterable<OptionsProblem> {
  if ((callers === undefined) === (authenticate === undefined)) {
    yield { path: "callers", message: "or authenticate is needed, and only one of them" };
  }
}

/** With `caseInsensitiveNames`, each name has one spelling, which all tables use. */
function* checkSpellings({ models, billing, channels }: LoadedOptions): Iterable<OptionsProblem> {
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

function* checkFamilies(
  options: LoadedOptions,
  families: ReadonlyMap<string, Family>,
): Iterable<OptionsProblem> {
  const known = [...families.keys()].join(", ");
  for (const [model, { family, limits }] of Object.entries(options.models)) {
    const found = families.get(family);
    const path = formatPath(["models", model]);
    if (found === undefined) yield { path: `${path}.family`, message: `must be one of ${known}` };
    else if (typeof limits === "string" && found.findLimits?.(limits) === undefined) {
      yield { path: `${path}.limits`, message: `names no row of limits of ${family}` };
    }
  }
  for (const [index, { family }] of options.channels.entries()) {
    if (!families.has(family))
      yield { path: `channels[${index}].family`, message: `must be one of ${known}` };
  }
}

function* checkChannels({ channels, models }: LoadedOptions): Iterable<OptionsProblem> {
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

/** Whether a mapping can serve a name; a series is served when any of its names may be. */
function serves(mapping: Readonly<Record<string, string>> | undefined, model: string): boolean {
  return mapping === undefined || Object.keys(mapping).some((key) => overlaps(key, model));
}

function* checkPrices(
  options: LoadedOptions,
  families: ReadonlyMap<string, Family>,
): Iterable<OptionsProblem> {
  const { billing, models } = options;
  if (billing === undefined) return;
  const details = createSeriesMap(billing.model_details);
  for (const model of Object.keys(models)) {
    // The names of a series are priced at the call: some may have prices of their own.
    if (!isSeries(model) && details.find(model) === undefined) {
      const path = formatPath(["billing", "model_details", model]);
      yield { path, message: "is missing: the model has no price" };
    }
  }
  for (const price of Object.keys(billing.model_details)) {
    if (Object.keys(models).some((model) => overlaps(price, model))) continue;
    // A price under a misspelled name is worse than no price: its model would be charged by the price of a series.
    const path = formatPath(["billing", "model_details", price]);
    yield {
      path,
      message: "is a price without a model: no key of models has this name or belongs to this series",
    };
  }
  yield* checkTokenPrices(billing, models, families);
}

/** Where no tokens are reported, a price by tokens would charge nothing for any image. */
function* checkTokenPrices(
  { model_details }: PriceTables,
  models: LoadedOptions["models"],
  families: ReadonlyMap<string, Family>,
): Iterable<OptionsProblem> {
  const prices = Object.keys(model_details);
  const modelKeys = Object.keys(models);
  for (const [price, { pricing_mode }] of Object.entries(model_details)) {
    if (pricing_mode !== "per-token") continue;
    const model = modelKeys.find(
      (key) =>
        families.get(models[key]?.family ?? "")?.reportsTokens === false &&
        overlaps(price, key) &&
        // The narrower key wins: a price that stands between the two, or a model that does, takes over.
        !prices.some((other) => isBetween(other, price, key)) &&
        !modelKeys.some((other) => isBetween(other, key, price)),
    );
    if (model === undefined) continue;
    yield {
      path: formatPath(["billing", "model_details", price]),
      message: `must be per-request: it prices ${model}, and ${models[model]?.family} reports no tokens`,
    };
  }
}

/** Whether a key is narrower than `wide` and still covers all of `narrow`. */
function isBetween(key: string, wide: string, narrow: string): boolean {
  return key !== wide && covers(wide, key) && covers(key, narrow);
}
