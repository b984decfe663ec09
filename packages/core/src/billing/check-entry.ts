import { toInstant } from "../util/instant.js";
import type { HoldRecord } from "./ledger.js";
import type { SettledRecord } from "./usage-record.js";

/**
 * The maximum length of a name in bytes of UTF-8. Names are ids, callers, groups, models and channels. An index row
 * of PostgreSQL has at most 2,704 bytes; our largest index row has four names, a charge and 60 more bytes.
 */
const MAX_NAME_BYTES = 512;

/** The rule for names, for messages such as "id must be …". */
export const NAME_RULE = `a string of at most ${MAX_NAME_BYTES} bytes in UTF-8, without NUL and without an unpaired surrogate`;

/** The longest a hold may last: ten years. */
const MAX_TTL_MS = 3652 * 86_400_000;

/** The maximum number of digits of an amount: it fits into the index row together with four names. */
const MONEY = /^\d{1,500}(?:\.\d{1,500})?$/;

const encoder = new TextEncoder();

/** Whether every ledger can store this name unchanged. */
export function isName(value: unknown): boolean {
  if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed()) return false;
  // A UTF-16 unit takes three bytes at most, so short names need not be encoded.
  return value.length * 3 <= MAX_NAME_BYTES || encoder.encode(value).length <= MAX_NAME_BYTES;
}

/**
 * Checks the input of `hold`. Every ledger calls this first, so that all ledgers refuse the same input.
 *
 * @throws RangeError that names the field: a name that is too long, an `amount` or `budget` that is not a plain
 *   decimal of at most 500 digits before and after the point, a `time` without a zone, a `ttlMs` below 0 or above ten
 *   years
 */
export function checkHold(hold: HoldRecord): void {
  checkNames(hold);
  checkMoney(hold.amount, "amount");
  checkMoney(hold.budget ?? null, "budget");
  const { ttlMs } = hold;
  if (!(ttlMs >= 0 && ttlMs <= MAX_TTL_MS)) {
    throw new RangeError(`ttlMs must be a number of milliseconds from 0 to ${MAX_TTL_MS}, not ${ttlMs}`);
  }
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
}

function checkNames({ id, time, caller, group, model }: HoldRecord | SettledRecord): void {
  checkName(id, "id");
  checkName(caller, "caller");
  checkName(group, "group");
  checkName(model, "model");
  toInstant(time, "time");
}

function checkName(value: string, field: string): void {
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
