import { PERIOD_NEEDS_STORE } from "../auth/check-caller.js";
import { findBudgetStore } from "../billing/budget.js";
import { type ChannelOptions, findDialect } from "../channels/channel.js";
import type { Family } from "../families/family.js";
import { qwenImage } from "../families/qwen-image/qwen-image.js";
import { seedream } from "../families/seedream/seedream.js";
import { type CapabilityRows, createCapabilityTable, foldCase, toRowName } from "../models/resolve-model.js";
import { isJsonObject } from "../util/json.js";
import { formatPath } from "../util/parse-fields.js";
import { overlaps } from "../util/series.js";
import { checkCallers } from "./check-callers.js";
import { checkChannels } from "./check-channels.js";
import { checkPrices } from "./check-prices.js";
import { checkAfterImage, checkResults } from "./check-results.js";
import { checkWebhooks } from "./check-webhooks.js";
import type { LoadedOptions } from "./load.js";
import { findOldName } from "./old-names.js";
import type { GatewayOptions, OptionsProblem } from "./options.js";
import { fixedOptionsSchema, gatewayOptionsSchema, priceTablesSchema } from "./schema.js";

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

/** Returns the problems of prices, with the rules of the option `billing`. Paths begin at the tables. */
export function findPriceProblems(tables: unknown): readonly OptionsProblem[] {
  return priceTablesSchema.safeParse(tables).error?.issues.flatMap(toProblems) ?? [];
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
