import { parseDecimal } from "../billing/decimal.js";
import { isName, NAME_RULE } from "../billing/stored-entries.js";
import type { Caller, CallerLimits } from "../types.js";
import { parseInstant } from "../util/instant.js";
import { isJsonObject } from "../util/json.js";

const LIMITS: Readonly<Record<keyof CallerLimits, true>> = {
  requestsPerMinute: true,
  imagesPerMinute: true,
  concurrent: true,
};

/**
 * Checks what the operator's `authenticate` gave: a budget or a limit that cannot be read must fail the
 * request, not pass for none.
 *
 * @throws TypeError that names the field; the operator is to mend it, not the client
 */
export function checkCaller(
  { id, group, models, responseFormat, expiresAt, budget, limits }: Caller,
  { hasBilling }: CallerRules,
): void {
  // Without an id nobody could be charged.
  if (!isText(id)) throw new TypeError("authenticate gave a caller without id: it must be a string.");
  if (!isName(id)) {
    throw new TypeError(
      `authenticate gave a caller with a wrong id: it must be ${NAME_RULE}, not ${JSON.stringify(id.slice(0, 50))}….`,
    );
  }
  const check: Check = (sound, field, rule) => {
    if (!sound) {
      throw new TypeError(`authenticate gave the caller ${JSON.stringify(id)} a wrong ${field}: ${rule}.`);
    }
  };
  check(isAbsentOr(isGroup, group), "group", `it must be absent or ${NAME_RULE}`);
  check(isAbsentOr(isTextList, models), "models", "it must be a list of names or absent");
  check(isAbsentOr(isFormat, responseFormat), "responseFormat", 'it must be "url", "b64_json" or absent');
  check(isAbsentOr(isMoment, expiresAt), "expiresAt", EXPIRY_RULE);
  check(isAbsentOr(isDecimal, budget), "budget", "it must be a decimal of at least 0, or absent");
  check(hasBilling || budget === undefined, "budget", BUDGET_RULE);
  if (limits !== undefined) checkLimits(limits, check);
}

/** What the gateway's options allow for callers. */
export interface CallerRules {
  /** Without `billing` nothing is charged, so a budget would have no effect. */
  readonly hasBilling: boolean;
}

const BUDGET_RULE = "it needs the option billing; without prices the budget would have no effect";

type Check = (sound: boolean, field: string, rule: string) => void;

const EXPIRY_RULE = 'it must be a Date, a time with a zone such as "2026-12-31T23:59:59Z", or absent';

function checkLimits(limits: CallerLimits, check: Check): void {
  check(isJsonObject(limits), "limits", "they must be an object or absent");
  for (const [name, limit] of Object.entries(limits)) {
    check(Object.hasOwn(LIMITS, name), `limits.${name}`, "there is no such limit");
    check(
      isAbsentOr(isLimit, limit),
      `limits.${name}`,
      "it must be a whole number of at least 1, null or absent",
    );
  }
}

function isAbsentOr(isSound: (value: unknown) => boolean, value: unknown): boolean {
  return value === undefined || isSound(value);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/** The group is in every hold and record. */
function isGroup(value: unknown): boolean {
  return isText(value) && isName(value);
}

function isTextList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

function isFormat(value: unknown): boolean {
  return value === "url" || value === "b64_json";
}

function isMoment(value: unknown): boolean {
  return parseInstant(value) !== undefined;
}

function isDecimal(value: unknown): boolean {
  return parseDecimal(value) !== undefined;
}

function isLimit(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && Number(value) >= 1);
}
