import { checkInstant } from "../util/instant.js";
import { isJsonObject } from "../util/json.js";
import { isName, NAME_RULE } from "../util/name.js";
import { checkPeriod } from "./budget.js";
import type { EntryFailure } from "./ledger.js";
import type { HoldRecord, SettledRecord, UsageRecord } from "./records.js";

/** The longest a hold may last: ten years. */
const MAX_TTL_MS = 3652 * 86_400_000;

/** The maximum number of digits of an amount: it fits into the index row together with four names. */
const MONEY = /^\d{1,500}(?:\.\d{1,500})?$/;

/**
 * Checks the input of `hold`. Every ledger calls this first, so that all ledgers refuse the same input.
 *
 * @throws RangeError that names the field: a name that is too long, an `amount` or `budget` that is not a plain
 *   decimal of at most 500 digits before and after the point, a `time` without a zone, a `ttlMs` below 0 or above ten
 *   years, an unknown `period`
 */
export function checkHold(hold: HoldRecord): void {
  checkNames(hold);
  checkMoney(hold.amount, "amount");
  checkMoney(hold.budget ?? null, "budget");
  if (hold.period !== undefined) checkPeriod(hold.period);
  checkDuration(hold.ttlMs, "ttlMs");
}

/**
 * Checks the input of `settle`, in the same way as {@link checkHold}.
 *
 * @throws RangeError that names the field
 */
export function checkRecord(record: SettledRecord): void {
  checkNames(record);
  checkName(record.channel, "channel");
  checkMoney(record.charge, "charge");
  checkMoney(record.cost ?? null, "cost");
}

/** The longest opaque string of a task or a hold, in UTF-16 code units. */
const MAX_OPAQUE = 1024 * 1024;

/**
 * Checks the input of `TaskStore.keepUpstream` and `KeptHoldStore.keepUpstream`.
 *
 * @throws RangeError if it is not a string that every store can keep, or is longer than 1 MiB
 */
export function checkUpstream(upstream: string): void {
  checkOpaque(upstream, "upstream");
}

/** @throws RangeError if an opaque string is too long, or not one that every ledger can keep */
export function checkOpaque(value: string, field: string, maxLength = MAX_OPAQUE): void {
  if (value.length > maxLength) {
    throw new RangeError(`${field} has at most ${maxLength} characters, not ${value.length}`);
  }
  if (value.includes("\0") || !value.isWellFormed()) {
    throw new RangeError(`${field} must be a string without NUL and without an unpaired surrogate`);
  }
}

/** A hold that was made, as a ledger stores it. */
export interface StoredHold extends HoldRecord {
  /** The key of the period in which the hold is counted. Absent: none. */
  readonly periodKey?: string | undefined;
}

/**
 * Reads a hold that a ledger stored as JSON.
 *
 * @throws Error if the string is not a hold
 */
export function parseHold(json: string): StoredHold {
  const value = parseObject(json, "hold");
  if (!isHold(value)) throw createDamageError("hold");
  return value;
}

/**
 * Reads a record that a ledger stored as JSON.
 *
 * @throws Error if the string is not a record
 */
export function parseRecord(json: string): UsageRecord {
  const value = parseObject(json, "usage record");
  if (!isRecord(value)) throw createDamageError("usage record");
  return value;
}

/** The stored records that a call of `takeUndelivered` returns. */
export interface TakenRecords {
  readonly records: UsageRecord[];
  /** The stored records that cannot be read. */
  readonly failures: EntryFailure[];
  /** How many more records are to be leased. */
  countWanted(): number;
  /**
   * Adds stored records that were just leased. Returns true if as many records as wanted came and some of them cannot
   * be read: then others are to be leased in their place, so that readable records do not wait.
   */
  add(rows: readonly { readonly id: string; readonly json: string }[]): boolean;
}

/** Collects at most `limit` records that can be read. */
export function createTakenRecords(limit: number): TakenRecords {
  const records: UsageRecord[] = [];
  const failures: EntryFailure[] = [];
  const countWanted = (): number => limit - records.length;
  return {
    records,
    failures,
    countWanted,
    add(rows) {
      const wanted = countWanted();
      for (const { id, json } of rows) {
        try {
          records.push(parseRecord(json));
        } catch (error) {
          failures.push({ id, error });
        }
      }
      return rows.length === wanted && records.length < limit;
    },
  };
}

/**
 * Reports the holds that a sweep could not end, after the others were ended.
 *
 * @throws AggregateError if there are such holds and `onFailure` is absent
 */
export function reportFailures(
  failures: readonly EntryFailure[],
  onFailure: ((failure: EntryFailure) => void) | undefined,
): void {
  if (onFailure !== undefined) {
    for (const failure of failures) onFailure(failure);
  } else if (failures.length > 0) {
    const ids = failures.map(({ id }) => id.slice(0, 100)).join(", ");
    throw new AggregateError(
      failures.map(({ error }) => error),
      `${failures.length} lost holds cannot be ended: ${ids}`,
    );
  }
}

function checkNames({ id, time, caller, group, model }: HoldRecord | SettledRecord): void {
  checkName(id, "id");
  checkName(caller, "caller");
  checkName(group, "group");
  checkName(model, "model");
  checkInstant(time, "time");
}

/** @throws RangeError */
export function checkDuration(ms: number, field: string): void {
  if (ms >= 0 && ms <= MAX_TTL_MS) return;
  throw new RangeError(`${field} must be a number of milliseconds from 0 to ${MAX_TTL_MS}, not ${ms}`);
}

/** @throws RangeError if a name is too long or not one that every ledger can keep */
export function checkName(value: string, field: string): void {
  if (!isName(value)) {
    throw new RangeError(`${field} must be ${NAME_RULE}, not ${JSON.stringify(value).slice(0, 60)}`);
  }
}

function checkMoney(value: string | null, field: string): void {
  if (value !== null && !MONEY.test(value)) {
    throw new RangeError(
      `${field} must be null or a decimal of at least 0, such as "0.04", with at most 500 digits before and after the point, not ${JSON.stringify(value.slice(0, 50))}`,
    );
  }
}

const STATES: ReadonlySet<unknown> = new Set<UsageRecord["state"]>(["settled", "unresolved", "released"]);

function parseObject(json: string, kind: string): object {
  try {
    const value: unknown = JSON.parse(json);
    return isJsonObject(value) ? value : {};
  } catch (cause) {
    throw createDamageError(kind, cause);
  }
}

/** Checks the fields that ledgers and reports use. */
function isHold(value: Partial<StoredHold>): value is StoredHold {
  const { periodKey } = value;
  return (
    hasNames(value) && isMoney(value.amount) && (periodKey === undefined || typeof periodKey === "string")
  );
}

function isRecord(value: Partial<UsageRecord>): value is UsageRecord {
  const isWhole = hasNames(value) && isMoney(value.charge) && STATES.has(value.state);
  return isWhole && hasIdList(value) && hasDerivation(value);
}

/** A flat price has no lines in its derivation, and so have all records of version 0.1. */
function hasDerivation(value: Partial<UsageRecord>): boolean {
  if (!("derivation" in value)) return true;
  const { derivation } = value;
  if (!isJsonObject(derivation)) return false;
  return !("lines" in derivation) || (Array.isArray(derivation.lines) && derivation.lines.every(isLine));
}

function isLine(line: unknown): boolean {
  return isJsonObject(line) && typeof line["what"] === "string" && typeof line["amount"] === "string";
}

/** Records of requests with one upstream call have no list. */
function hasIdList(value: Partial<UsageRecord>): boolean {
  if (!("upstreamRequestIds" in value)) return true;
  const { upstreamRequestIds: ids } = value;
  return Array.isArray(ids) && ids.every((id) => typeof id === "string");
}

function hasNames({ id, time, caller, group, model }: Partial<HoldRecord | UsageRecord>): boolean {
  const areStrings = [id, caller, group, model].every((name) => typeof name === "string");
  return areStrings && typeof time === "string" && !Number.isNaN(Date.parse(time));
}

function isMoney(amount: unknown): boolean {
  return amount === null || (typeof amount === "string" && /^\d+(?:\.\d+)?$/.test(amount));
}

function createDamageError(kind: string, cause?: unknown): Error {
  return new Error(`A stored ${kind} is damaged.`, { cause });
}
