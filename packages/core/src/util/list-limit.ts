const MAX_LISTED = 1_000;
const DEFAULT_LISTED = 100;

/**
 * Reads the limit of a list, such as that of `BudgetStore.list`.
 *
 * @throws RangeError if it is not a whole number from 1 to `max`
 */
export function readListLimit(limit: number = DEFAULT_LISTED, max: number = MAX_LISTED): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return limit;
  throw new RangeError(`limit must be a whole number from 1 to ${max}, not ${limit}`);
}
