import { hashApiKey } from "../auth/api-key.js";
import type { CallerOptions } from "../auth/authenticate.js";
import { PERIOD_NEEDS_STORE } from "../auth/check-caller.js";
import { describeBudget, findBudgetStore, hasPeriod } from "../billing/budget.js";
import { DEFAULT_GROUP, isPerImage, type ModelDetails, type PriceTables } from "../billing/model-details.js";
import { type ChannelOptions, findDialect } from "../channels/channel.js";
import type { Dialect } from "../families/dialect.js";
import type { Family } from "../families/family.js";
import { qwenImage } from "../families/qwen-image/qwen-image.js";
import { seedream } from "../families/seedream/seedream.js";
import { type CapabilityRows, createCapabilityTable, foldCase, toRowName } from "../models/resolve-model.js";
import type { Caller } from "../types.js";
import { isJsonObject } from "../util/json.js";
import { formatPath } from "../util/parse-fields.js";
import { covers, createSeriesMap, isSeries, overlaps } from "../util/series.js";
import { checkAfterImage, checkResults } from "./check-results.js";
import { checkWebhooks } from "./check-webhooks.js";
import type { LoadedOptions } from "./load.js";
import type { GatewayOptions, OptionsProblem } from "./options.js";
import { fixedOptionsSchema, gatewayOptionsSchema } from "./schema.js";

/** The families that every gateway has. All others are passed in `families`. */
export const BUILT_IN_FAMILIES: readonly Family[] = [seedream, qwenImage];

/** Thrown by `createGateway`. Contains every problem of the options. */
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
 * Checks all options and returns the families that they may name. Rules that span several options are checked if each
 * of these options has the right type, so that one run finds as many problems as possible.
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
  const families = new Map([...BUILT_IN_FAMILIES, ...extra].map((family) => [family.name, family]));
  problems.push(...checkFamilyNames(extra), ...checkAccess(options));
  if (isSound("logger", "logCalls")) problems.push(...checkCallLog(options));
  if (isSound("openapi", "reference")) problems.push(...checkReference(options));
  if (isSound("results")) problems.push(...checkResults(options.results), ...checkAfterImage(options));
  if (isSound("callers", "billing")) problems.push(...checkCallers(options));
  const { ledger, onBudget } = options;
  if (isSound("ledger") && onBudget !== undefined && ledger && findBudgetStore(ledger) === undefined) {
    problems.push({ path: "onBudget", message: PERIOD_NEEDS_STORE });
  }
  if (isSound("webhooks")) {
    problems.push(...checkWebhooks(options.webhooks, isSound("callers") ? options.callers : undefined));
  }
  if (options.caseInsensitiveNames === true && isSound("models", "channels", "billing")) {
    problems.push(...checkSpellings(options));
  }
  if (isSound("models", "channels", "families")) {
    const rows = isSound("capabilities") ? options.capabilities : {};
    problems.push(...checkFamilies(options, families, rows), ...checkChannels(options));
    if (isSound("billing")) problems.push(...checkPrices(options, families));
  }
  if (problems.length > 0) throw new GatewayOptionsError(problems);
  return families;
}

/**
 * Checks the options that are not functions while the functions are still running, so that their problems are
 * reported at once.
 *
 * @throws GatewayOptionsError
 */
export function checkFixedOptions(options: GatewayOptions): void {
  const {
    models: _models,
    channels: _channels,
    callers: _callers,
    billing: _billing,
    webhooks: _webhooks,
    ...fixed
  } = options;
  const issues = fixedOptionsSchema.safeParse(fixed).error?.issues ?? [];
  const problems = issues.flatMap(toProblems);
  problems.push(...checkReference(options));
  if (!issues.some(({ path }) => path[0] === "results")) {
    problems.push(...checkResults(options.results), ...checkAfterImage(options));
  }
  if (!issues.some(({ path }) => path[0] === "logger" || path[0] === "logCalls")) {
    problems.push(...checkCallLog(options));
  }
  if (problems.length > 0) throw new GatewayOptionsError(problems);
}

/** The page reads the document. */
function* checkReference({
  openapi = false,
  reference,
}: Pick<GatewayOptions, "openapi" | "reference">): Iterable<OptionsProblem> {
  if (reference !== undefined && openapi === false) yield { path: "reference", message: "needs openapi" };
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
  /** The problems of a key of a record. */
  readonly issues?: readonly Issue[];
  /** The problems that each alternative of a union found. */
  readonly errors?: readonly (readonly Issue[])[];
}

function toProblems(issue: Issue): OptionsProblem[] {
  const meant = issue.issues ?? issue.errors?.find((issues) => !issues.some(isOfAnotherType));
  if (meant !== undefined) {
    return meant.flatMap((inner) => toProblems({ ...inner, path: [...issue.path, ...inner.path] }));
  }
  if (issue.code !== "unrecognized_keys") {
    const message = (issue.code === "invalid_type" && findOldName(issue.path)) || issue.message;
    return [{ path: formatPath(issue.path), message }];
  }
  return (issue.keys ?? []).map((key) => {
    const path = [...issue.path, key];
    return { path: formatPath(path), message: findOldName(path) ?? "is not an option" };
  });
}

/** True if the alternative of a union is for values of another type. */
function isOfAnotherType({ path, code, errors = [] }: Issue): boolean {
  if (path.length > 0) return false;
  if (code === "invalid_union") return errors.every((issues) => issues.some(isOfAnotherType));
  return code === "invalid_type" || code === "invalid_value";
}

function* checkFamilyNames(extra: readonly Family[]): Iterable<OptionsProblem> {
  const names = new Set(BUILT_IN_FAMILIES.map(({ name }) => name));
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

/** The history of calls is written to `logger.info`, which a logger may lack. */
function* checkCallLog({
  logCalls,
  logger,
}: Pick<GatewayOptions, "logCalls" | "logger">): Iterable<OptionsProblem> {
  if (logCalls === true && logger !== undefined && typeof logger.info !== "function") {
    yield { path: "logCalls", message: "needs a logger with the function info" };
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
  models: LoadedOptions["models"],
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

/** Whether a mapping can serve a name. A series is served if any of its names can be. */
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
    // The names of a series get their prices during a call, because some may have their own prices.
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
  yield* checkPricesOfFamilies(billing, options, families);
}

/** A price that a family cannot serve. */
interface FamilyRule {
  /** The option within the price, if it is not the price as a whole. */
  readonly option?: string;
  readonly isUsed: (details: ModelDetails) => boolean;
  readonly isServed: (family: Family, dialect: Dialect) => boolean;
  /** @param service the name of the family, or of the dialect of one of its channels */
  readonly describe: (model: string, service: string) => string;
}

const FAMILY_RULES: readonly FamilyRule[] = [
  {
    // Where no tokens are reported, a price by tokens would charge nothing for any image.
    isUsed: ({ pricing_mode }) => pricing_mode === "per-token",
    isServed: (_family, { reportsTokens }) => reportsTokens,
    describe: (model, service) => `must be per-request: it prices ${model}, and ${service} reports no tokens`,
  },
  {
    option: "image_prices",
    isUsed: (details) =>
      isPerImage(details) && details.image_prices.some(({ quality }) => quality !== undefined),
    // Each image would have the highest price of all qualities.
    isServed: ({ readsQuality = false }) => readsQuality,
    describe: (model, service) =>
      `must not depend on quality: it prices ${model}, and ${service} does not know the quality of an image`,
  },
];

function* checkPricesOfFamilies(
  { model_details }: PriceTables,
  { models, channels }: LoadedOptions,
  families: ReadonlyMap<string, Family>,
): Iterable<OptionsProblem> {
  const prices = Object.keys(model_details);
  const modelKeys = Object.keys(models);
  /** The models of a price, without those for which a narrower key wins. */
  const modelsOf = (price: string): readonly string[] =>
    modelKeys.filter(
      (key) =>
        overlaps(price, key) &&
        !prices.some((other) => isBetween(other, price, key)) &&
        !modelKeys.some((other) => isBetween(other, key, price)),
    );
  for (const [price, details] of Object.entries(model_details)) {
    for (const { option, isUsed, isServed, describe } of FAMILY_RULES) {
      if (!isUsed(details)) continue;
      /** The service of a model that this price does not fit. */
      const findService = (key: string): string | undefined => {
        const family = families.get(models[key]?.family ?? "");
        if (family === undefined) return undefined;
        const serving = channels.filter(
          (channel) => channel.family === family.name && serves(channel.modelMapping, key),
        );
        const wrong = serving.find(({ dialect }) => !isServed(family, findDialect(family, dialect)));
        return wrong && (wrong.dialect ?? family.name);
      };
      const [model, service] =
        modelsOf(price)
          .map((key) => [key, findService(key)] as const)
          .find(([, found]) => found !== undefined) ?? [];
      if (model === undefined || service === undefined) continue;
      const path = ["billing", "model_details", price, ...(option === undefined ? [] : [option])];
      yield { path: formatPath(path), message: describe(model, service) };
    }
  }
}

/** Whether a key is narrower than `wide` and still covers all of `narrow`. */
function isBetween(key: string, wide: string, narrow: string): boolean {
  return key !== wide && covers(wide, key) && covers(key, narrow);
}

/**
 * Checks the entries of `callers` against each other and against the prices. The types of each entry were checked
 * before.
 */
function* checkCallers({ callers = [], billing, ledger }: LoadedOptions): Iterable<OptionsProblem> {
  yield* checkKeys(callers);
  yield* checkAgreement(callers);
  const groups = billing && (billing.group_ratio ?? { [DEFAULT_GROUP]: "1" });
  for (const [index, { group = DEFAULT_GROUP, budget }] of callers.entries()) {
    if (groups !== undefined && !Object.hasOwn(groups, group)) {
      yield { path: `callers[${index}].group`, message: `is not a group of billing.group_ratio: ${group}` };
    }
    if (billing === undefined && budget !== undefined) {
      yield { path: `callers[${index}].budget`, message: BUDGET_NEEDS_BILLING };
    }
    if (hasPeriod(budget) && ledger !== undefined && findBudgetStore(ledger) === undefined) {
      yield { path: `callers[${index}].budget.period`, message: PERIOD_NEEDS_STORE };
    }
  }
}

const BUDGET_NEEDS_BILLING =
  "needs billing: without prices nothing is charged, so the budget would have no effect";

function* checkKeys(callers: readonly CallerOptions[]): Iterable<OptionsProblem> {
  const hashes = new Set<string>();
  for (const [index, { key, hash }] of callers.entries()) {
    const own = hash?.toLowerCase() ?? hashApiKey(key ?? "");
    if (hashes.has(own)) yield { path: `callers[${index}]`, message: "has the same key as another entry" };
    hashes.add(own);
  }
}

/** The fields that must be the same in entries with the same id, in a form in which equal values are equal strings. */
const SHARED: Readonly<Record<Exclude<keyof Caller, "id" | "expiresAt">, (caller: Caller) => unknown>> = {
  group: ({ group = DEFAULT_GROUP }) => group,
  models: ({ models }) => models && [...new Set(models)].toSorted(),
  client: ({ client }) => client,
  responseFormat: ({ responseFormat }) => responseFormat,
  streamFormat: ({ streamFormat }) => streamFormat,
  sizes: ({ sizes }) => sizes,
  budget: ({ budget }) => describeBudget(budget),
  limits: ({ limits = {} }) =>
    Object.entries(limits)
      .filter(([, limit]) => limit !== undefined)
      .toSorted(([a], [b]) => a.localeCompare(b)),
};

/**
 * Entries with the same id are several keys of one caller: its budget and limits are counted under the id. If one of
 * the entries had no budget, its key could spend without a limit.
 */
function* checkAgreement(callers: readonly CallerOptions[]): Iterable<OptionsProblem> {
  const firsts = new Map<string, number>();
  for (const [index, entry] of callers.entries()) {
    const first = firsts.get(entry.id) ?? index;
    firsts.set(entry.id, first);
    const other = callers[first] ?? entry;
    for (const [field, read] of Object.entries(SHARED)) {
      if (JSON.stringify(read(entry)) === JSON.stringify(read(other))) continue;
      yield {
        path: `callers[${index}].${field}`,
        message: `must be the same as callers[${first}].${field}: both entries have the id ${entry.id}, and only key, hash and expiresAt may differ`,
      };
    }
  }
}

/**
 * Options that had another name in an earlier version, with the advice that follows the path in the error message. In
 * the paths, `*` stands for the name of a model or the index of a list.
 */
export const OLD_NAMES: Readonly<Record<string, string>> = {
  apiKeys: "is now called callers",
  callerLimits: "is now called limits",
  maxAnswerBytes: "is now called maxUpstreamResponseBytes",
  maxResponseBytes: "is now called maxUpstreamResponseBytes",
  "idempotency.maxAnswerBytes": "is now called maxResponseBytes",
  "models.*.callerLimits": "is now called limits",
  "models.*.capabilities.maxImages": "is now called imagesPerCall",
  "models.*.capabilities.maxLayers": "is now called layers: { max }",
  "models.*.limits":
    "must be an object of limits; the row of what the model can do is now called capabilities",
  "models.*.limits.size": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.references": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.maxImages": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.maxLayers": "is now set in capabilities: models[…].limits contains rates",
  "models.*.limits.maxReferencesAndImages": "is now set in capabilities: models[…].limits contains rates",
  "channels.*.timeouts.connectMs": "is now called connectSeconds, in seconds",
  "channels.*.timeouts.firstByteMs": "is now called firstByteSeconds, in seconds",
  "channels.*.timeouts.idleMs": "is now called idleSeconds, in seconds",
};

/** Returns the advice for an option that is unknown or of a wrong type, if the path once had another meaning. */
function findOldName(path: readonly PropertyKey[]): string | undefined {
  const isWild = (at: number): boolean => at === 1 && (path[0] === "models" || path[0] === "channels");
  const pattern = path.map((key, at) => (isWild(at) ? "*" : String(key))).join(".");
  return Object.hasOwn(OLD_NAMES, pattern) ? OLD_NAMES[pattern] : undefined;
}
