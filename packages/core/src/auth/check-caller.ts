import { findBudgetProblem, hasPeriod } from "../billing/budget.js";
import { CLIENT_PROFILES } from "../request/client-profiles.js";
import type { Caller, CallerLimits } from "../types.js";
import { parseInstant } from "../util/instant.js";
import { isJsonObject } from "../util/json.js";
import { isName, NAME_RULE } from "../util/name.js";

/** What the options of the gateway allow for callers. */
export interface CallerRules {
  /** Without `billing` nothing is charged, so a budget would have no effect. */
  readonly hasBilling: boolean;
  /** Whether the ledger counts by period. Otherwise a budget with a period would be one for all time. */
  readonly canKeepPeriods: boolean;
}

/** Continues the name of a field. */
export const PERIOD_NEEDS_STORE =
  "needs a ledger that counts by period: the one in memory, of @calotype/sqlite or of @calotype/postgres";

/** The ids of signed-in users begin with it, and those of other callers do not. */
export const USER_PREFIX = "user:";

const LIMITS: Readonly<Record<keyof CallerLimits, true>> = {
  requestsPerMinute: true,
  imagesPerMinute: true,
  concurrent: true,
  waitSeconds: true,
};

/**
 * Checks a caller that the operator's `authenticate` returned, or that the host named. A budget or a limit that cannot be read must fail the
 * request; ignoring it would remove the limit.
 *
 * @param source the beginning of the messages
 * @throws TypeError that names the field, because the operator must fix it and not the client
 */
export function checkCaller(
  caller: Caller,
  { hasBilling, canKeepPeriods }: CallerRules,
  source = "authenticate returned",
): void {
  const { id, group, models, client, responseFormat, streamFormat, sizes, expiresAt, budget, limits } =
    caller;
  if (!isString(id)) throw new TypeError(`${source} a caller without id: it must be a string.`);
  if (!isName(id)) {
    throw new TypeError(
      `${source} a caller with a wrong id: it must be ${NAME_RULE}, not ${JSON.stringify(id.slice(0, 50))}….`,
    );
  }
  const check = (isValid: boolean, field: string, rule: string): void => {
    if (!isValid) {
      throw new TypeError(`${source} the caller ${JSON.stringify(id)} with a wrong ${field}: ${rule}.`);
    }
  };
  check(group === undefined || isGroup(group), "group", `it must be absent or ${NAME_RULE}`);
  check(models === undefined || isStringList(models), "models", "it must be a list of names or absent");
  check(
    client === undefined || Object.hasOwn(CLIENT_PROFILES, client),
    "client",
    `it must be one of ${Object.keys(CLIENT_PROFILES).join(", ")}, or absent`,
  );
  check(
    [undefined, "url", "b64_json"].includes(responseFormat),
    "responseFormat",
    'it must be "url", "b64_json" or absent',
  );
  check(
    [undefined, "native", "openai"].includes(streamFormat),
    "streamFormat",
    'it must be "native", "openai" or absent',
  );
  check(
    [undefined, "strict", "nearest"].includes(sizes),
    "sizes",
    'it must be "strict", "nearest" or absent',
  );
  check(
    expiresAt === undefined || parseInstant(expiresAt) !== undefined,
    "expiresAt",
    'it must be a Date, a time with a zone such as "2026-12-31T23:59:59Z", or absent',
  );
  const problem = budget === undefined ? undefined : findBudgetProblem(budget);
  check(problem === undefined, problem?.field ? `budget.${problem.field}` : "budget", `it ${problem?.rule}`);
  check(canKeepPeriods || !hasPeriod(budget), "budget.period", `it ${PERIOD_NEEDS_STORE}`);
  check(
    hasBilling || budget === undefined,
    "budget",
    "it needs the option billing; without prices the budget would have no effect",
  );
  if (limits === undefined) return;
  check(isJsonObject(limits), "limits", "they must be an object or absent");
  for (const [name, limit] of Object.entries(limits)) {
    check(Object.hasOwn(LIMITS, name), `limits.${name}`, "there is no such limit");
    const [isValid, rule] =
      name === "waitSeconds" ? [isWait, "seconds from 0 to 300"] : [isLimit, "a whole number of at least 1"];
    check(limit === undefined || isValid(limit), `limits.${name}`, `it must be ${rule}, null or absent`);
  }
}

function isString(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** The group is part of every hold and record. */
function isGroup(value: unknown): boolean {
  return isString(value) && isName(value);
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isString);
}

function isLimit(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && Number(value) >= 1);
}

function isWait(value: unknown): boolean {
  return value === null || (typeof value === "number" && value >= 0 && value <= 300);
}
