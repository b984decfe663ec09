import type { HoldRecord } from "./ledger.js";
import type { UsageRecord } from "./usage-record.js";

const STATES: ReadonlySet<unknown> = new Set<UsageRecord["state"]>(["settled", "unresolved", "released"]);

/**
 * Reads a hold that a ledger stored as JSON.
 *
 * @throws Error if the string is not a hold
 */
export function parseHold(json: string): HoldRecord {
  const hold: HoldRecord = parseObject(json, "hold");
  if (!isEntry(hold) || !isMoney(hold.amount)) throw damaged("hold");
  return hold;
}

/**
 * Reads a record that a ledger stored as JSON.
 *
 * @throws Error if the string is not a record
 */
export function parseRecord(json: string): UsageRecord {
  const record: UsageRecord = parseObject(json, "usage record");
  if (!isEntry(record) || !isMoney(record.charge) || !STATES.has(record.state)) throw damaged("usage record");
  return record;
}

// oxlint-disable-next-line typescript/no-explicit-any -- what JSON.parse returns; the fields are checked above
function parseObject(json: string, kind: string): any {
  try {
    return Object(JSON.parse(json));
  } catch (cause) {
    throw damaged(kind, cause);
  }
}

function isEntry({ id, time, caller, group, model }: HoldRecord | UsageRecord): boolean {
  const isWhole = [id, caller, group, model].every((name) => typeof name === "string");
  return isWhole && typeof time === "string" && !Number.isNaN(Date.parse(time));
}

function isMoney(amount: unknown): boolean {
  return amount === null || (typeof amount === "string" && /^\d+(?:\.\d+)?$/.test(amount));
}

function damaged(kind: string, cause?: unknown): Error {
  return new Error(`A stored ${kind} is damaged.`, { cause });
}
