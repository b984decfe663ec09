import type { RecordFilter } from "@calotype/core/billing";

/** Throws a `RangeError` if one of the names cannot be sent to PostgreSQL. */
export function checkFilter({ caller, model, channel }: RecordFilter): void {
  for (const [name, value] of Object.entries({ caller, model, channel })) {
    if (value !== undefined) checkString(value, name);
  }
}

/** A PostgreSQL string cannot contain NUL, and an unpaired surrogate would be changed by the conversion to UTF-8. */
function checkString(value: string, name: string): void {
  if (value.includes("\0") || !value.isWellFormed()) {
    throw new RangeError(`${name} must not contain NUL or an unpaired surrogate: ${JSON.stringify(value)}`);
  }
}
