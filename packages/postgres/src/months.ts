import { type Database, readTextOrNull } from "./database.js";
import type { Owner } from "./owner.js";
import { codeOf } from "./postgres-error.js";

/** How long the records are kept. */
export interface Retention {
  /**
   * For how many full months records are kept, besides the present month: 1 to 1,200. After that the sweep drops the partition of the
   * month, unless a record of it was not delivered yet. Balances and totals of hours stay.
   */
  readonly recordsMonths: number;
}

/** Makes the partitions of the next months, and drops those of old ones. */
export interface MonthKeeper {
  /** Called by each sweep. */
  readonly run: () => Promise<void>;
}

/** What a keeper of months works with. */
export interface MonthKeeperOptions {
  readonly schema: string;
  readonly owner: Pick<Owner, "now">;
  readonly retention: Retention | undefined;
}

/** How often a process looks. Months are made two months ahead, and the first sweep of a process looks at once. */
const INTERVAL_MS = 600_000;

/** `lock_not_available`: a report was reading. */
const IS_LOCKED = "55P03";
/** `duplicate_table`: another process has made the month after this one had looked for it. */
const IS_MADE = "42P07";

/** Creates the keeper of the months of a schema. Throws a `RangeError` if the retention is not possible. */
export function createMonthKeeper(
  database: Database,
  { schema, owner, retention }: MonthKeeperOptions,
): MonthKeeper {
  const months = retention?.recordsMonths;
  if (months !== undefined && !(Number.isInteger(months) && months >= 1 && months <= 1_200)) {
    throw new RangeError(`retention.recordsMonths must be a whole number from 1 to 1200, not ${months}`);
  }
  let nextAt = -Infinity;

  /** Calls a function until it has nothing more to do. Returns false if it must be tried again soon. */
  const repeat = async (sql: string, values: readonly unknown[]): Promise<boolean> => {
    let wasMade = false;
    for (;;) {
      try {
        const [row] = await database.run({ sql: `SELECT ${schema}.${sql} AS month`, values });
        if (readTextOrNull(row, "month") === null) return true;
        wasMade = false;
      } catch (error) {
        if (codeOf(error) === IS_LOCKED) return false;
        // Twice in a row, the name belongs to a table that is not a month.
        if (codeOf(error) !== IS_MADE || wasMade) throw error;
        wasMade = true;
      }
    }
  };
  return {
    run: async () => {
      if (performance.now() < nextAt) return;
      const isMade = await repeat("make_month($1)", [owner.now()]);
      const isDropped =
        months === undefined ||
        (await repeat(
          `drop_month((date_trunc('month', coalesce(to_timestamp($1::float8 / 1000), clock_timestamp()) AT TIME ZONE 'UTC')
            - $2::int * interval '1 month') AT TIME ZONE 'UTC')`,
          [owner.now(), months],
        ));
      if (isMade && isDropped) nextAt = performance.now() + INTERVAL_MS;
    },
  };
}
