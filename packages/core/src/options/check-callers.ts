import { hashApiKey } from "../auth/api-key.js";
import type { CallerOptions } from "../auth/authenticate.js";
import { PERIOD_NEEDS_STORE } from "../auth/check-caller.js";
import { describeBudget, hasPeriod } from "../billing/budget.js";
import { DEFAULT_GROUP } from "../billing/model-details.js";
import type { Caller } from "../types.js";
import type { OptionsProblem, RelatedOptions } from "./options.js";

/**
 * Checks the entries of `callers` against each other and against the prices. The types of each entry were checked
 * before.
 *
 * @param countsPeriods whether the ledger counts what callers spend by period
 */
export function* checkCallers(options: RelatedOptions, countsPeriods: boolean): Iterable<OptionsProblem> {
  const { callers = [], billing } = options;
  yield* checkKeys(callers);
  yield* checkAgreement(callers);
  const groups = billing && (billing.group_ratio ?? { [DEFAULT_GROUP]: "1" });
  for (const [index, { group = DEFAULT_GROUP, budget }] of callers.entries()) {
    if (groups !== undefined && !Object.hasOwn(groups, group)) {
      yield { path: `callers[${index}].group`, message: `is not a group of billing.group_ratio: ${group}` };
    }
    const path = `callers[${index}].budget`;
    if (billing === undefined && budget !== undefined) yield { path, message: NEEDS_BILLING };
    if (hasPeriod(budget) && !countsPeriods) yield { path: `${path}.period`, message: PERIOD_NEEDS_STORE };
  }
}

const NEEDS_BILLING = "needs billing: without prices nothing is charged, so the budget would have no effect";

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

/** Checks that there is one way to find callers. */
export function* checkAccess({ callers, authenticate }: RelatedOptions): Iterable<OptionsProblem> {
  if ((callers === undefined) === (authenticate === undefined)) {
    yield { path: "callers", message: "or authenticate is needed, and only one of them" };
  }
}
