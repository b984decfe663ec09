import type { RecordFilter } from "@calotype/core/billing";

/** Throws a `RangeError` if PostgreSQL cannot be asked for one of the names. */
export function checkFilter({ caller, model, channel }: RecordFilter): void {
  for (const [name, value] of Object.entries({ caller, model, channel })) {
    if (value !== undefined) checkString(value, name);
  }
}

/** PostgreSQL has no string with a NUL, and half a surrogate pair would become another string on its way. */
function checkString(value: string, name: string): void {
  if (value.includes("\0") || !value.isWellFormed()) {
    throw new RangeError(`${name} must hold neither NUL nor half a surrogate pair: ${JSON.stringify(value)}`);
  }
}
