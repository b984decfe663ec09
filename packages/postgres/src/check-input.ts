import { type Hold, type RecordFilter, toInstant, type UsageRecord } from "@calotype/core/billing";

/** `numeric` keeps far more, but rounds without a word where even that is not enough. */
const PLAIN_DECIMAL = /^\d{1,1000}(?:\.\d{1,1000})?$/;

/** Throws a `RangeError` that names what PostgreSQL would not keep as it is. */
export function checkHold(hold: Hold): void {
  checkNames(hold);
  toInstant(hold.time, "time");
  checkMoney(hold.amount);
  checkMoney(hold.budget ?? null);
  if (!Number.isFinite(hold.expiresAt)) throw new RangeError("expiresAt must be a number of milliseconds");
}

/** The same of a record. */
export function checkRecord(record: UsageRecord): void {
  checkNames(record);
  if (record.state === "settled") checkText(record.channel, "channel");
  checkMoney(record.charge);
}

/** The same of what reports are asked for. */
export function checkFilter({ caller, model, channel }: RecordFilter): void {
  for (const [name, text] of Object.entries({ caller, model, channel })) {
    if (text !== undefined) checkText(text, name);
  }
}

/** PostgreSQL has no text with a NUL, and half a surrogate pair would become another text on its way. */
export function checkText(text: string, name: string): void {
  if (text.includes("\0") || !text.isWellFormed()) {
    throw new RangeError(`${name} must hold neither NUL nor half a surrogate pair: ${JSON.stringify(text)}`);
  }
}

function checkNames({ id, time, caller, group, model }: Hold | UsageRecord): void {
  for (const [name, text] of Object.entries({ id, time, caller, group, model })) checkText(text, name);
}

function checkMoney(text: string | null): void {
  if (text !== null && !PLAIN_DECIMAL.test(text)) {
    throw new RangeError(
      `Money must be a decimal of at least 0 and at most 1000 places, such as "0.04", not ${JSON.stringify(text.slice(0, 50))}`,
    );
  }
}
