import type * as z from "zod/mini";
import type { ChannelOptions } from "../channels/channel.js";
import { isJsonObject } from "../util/json.js";
import { formatPath } from "../util/parse-fields.js";
import type { OptionsProblem } from "./options.js";
import { GatewayOptionsError } from "./options-error.js";
import { priceTablesSchema } from "./schema.js";

/** What a check of types has found. */
export interface FoundProblems {
  readonly problems: OptionsProblem[];
  /** Whether these options can be checked against others. */
  readonly isSound: (...names: readonly string[]) => boolean;
}

/**
 * Checks the types of options.
 *
 * @param except options that are not checked, because they are still being read
 * @param advise returns the message about an option that is unknown or of a wrong type, if it once had another name
 * @throws GatewayOptionsError if the options are not an object
 */
export function findTypeProblems(
  schema: z.ZodMiniObject,
  options: unknown,
  except: readonly PropertyKey[] = [],
  advise: Advise = adviseNothing,
): FoundProblems {
  const found = schema.safeParse(options).error?.issues ?? [];
  const issues = found.filter(({ path: [name = ""] }) => !except.includes(name));
  const broken = new Set(issues.filter((issue) => !isLocal(issue)).map(({ path }) => path[0]));
  const isSound = (...names: readonly string[]): boolean => !names.some((name) => broken.has(name));
  const problems = issues.flatMap((issue) => toProblems(issue, advise));
  // Nothing else can be checked.
  if (!isJsonObject(options)) throw new GatewayOptionsError(problems);
  return { problems, isSound };
}

/** @throws GatewayOptionsError for options of a feature that have the wrong types */
export function checkFeatureOptions(schema: z.ZodMiniObject, options: unknown): void {
  throwProblems(findTypeProblems(schema, options).problems);
}

/** @throws GatewayOptionsError if there are problems */
export function throwProblems(problems: Iterable<OptionsProblem>): void {
  const all = [...problems];
  if (all.length > 0) throw new GatewayOptionsError(all);
}

/** Returns the problems of prices, with the rules of the option `billing`. Paths begin at the tables. */
export function findPriceProblems(tables: unknown): readonly OptionsProblem[] {
  return (
    priceTablesSchema.safeParse(tables).error?.issues.flatMap((issue) => toProblems(issue, adviseNothing)) ??
    []
  );
}

type Advise = (path: readonly PropertyKey[]) => string | undefined;
const adviseNothing: Advise = () => undefined;

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

function toProblems(issue: Issue, advise: Advise): OptionsProblem[] {
  const meant = issue.issues ?? issue.errors?.find((issues) => !issues.some(isOfAnotherType));
  if (meant !== undefined) {
    return meant.flatMap((inner) => toProblems({ ...inner, path: [...issue.path, ...inner.path] }, advise));
  }
  if (issue.code !== "unrecognized_keys") {
    const message = (issue.code === "invalid_type" && advise(issue.path)) || issue.message;
    return [{ path: formatPath(issue.path), message }];
  }
  return (issue.keys ?? []).map((key) => {
    const path = [...issue.path, key];
    return { path: formatPath(path), message: advise(path) ?? "is not an option" };
  });
}

/** True if the alternative of a union is for values of another type. */
function isOfAnotherType({ path, code, errors = [] }: Issue): boolean {
  if (path.length > 0) return false;
  if (code === "invalid_union") return errors.every((issues) => issues.some(isOfAnotherType));
  return code === "invalid_type" || code === "invalid_value";
}
